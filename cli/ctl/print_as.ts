import { print } from "../output.ts";

/** Prints data for programs. */
export async function printAs(
  format: "yaml" | "json",
  value: unknown,
): Promise<void> {
  if (format === "json") {
    return await print(JSON.stringify(value, null, 2) + "\n");
  }
  const { printYaml } = await import("../../src/config/yaml.ts");
  await print(await printYaml(value));
}

/** Rows with their columns below each other; the first is the title. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ").trimEnd() +
    "\n"
  ).join("");
}

/** A field of JSON whose shape is not known; `undefined` without one. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** A list in JSON whose shape is not known; empty without one. */
export function listOf(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}
