import { VERSION } from "../../src/base/version.ts";
import { print } from "../output/output.ts";

/** Returns build information such as `{ version: "0.1.0", deno: "2.9.6", … }`. */
export function buildInfo() {
  return {
    version: VERSION,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    target: Deno.build.target,
  };
}

/** Prints `gateway 0.1.0`, or everything as JSON. */
export async function printVersion(asJson: boolean): Promise<void> {
  await print(
    asJson
      ? JSON.stringify(buildInfo(), null, 2) + "\n"
      : `gateway ${VERSION}\n`,
  );
}
