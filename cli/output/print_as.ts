import type { AdminAddress } from "../client/admin_client.ts";
import { print } from "./output.ts";
import { printableJson } from "./printable.ts";

/** Address and output format. */
export interface TableOptions extends AdminAddress {
  readonly output: "table" | "yaml" | "json";
}

/** Prints data as YAML or JSON. */
export async function printAs(
  format: "yaml" | "json",
  value: unknown,
): Promise<void> {
  if (format === "json") {
    return await print(printableJson(JSON.stringify(value, null, 2)) + "\n");
  }
  const { printYaml } = await import("../../src/config/yaml/yaml.ts");
  await print(await printYaml(value));
}
