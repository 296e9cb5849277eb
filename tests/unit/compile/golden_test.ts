import assert from "node:assert/strict";
import { basename } from "node:path";
import { validateConfiguration } from "../../../src/gateway/candidate/candidate.ts";
import { textSource } from "../../../src/config/configuration_source.ts";

const folder = new URL("../../fixtures/config/policies/", import.meta.url);

/** Returns the output of `--validate-only`. */
async function explain(file: URL): Promise<string> {
  const text = await Deno.readTextFile(file);
  const source = textSource(text, basename(file.pathname));
  return (await validateConfiguration(source, {})).text;
}

/** Compares with a golden file; `GOLDEN=update` writes it instead. */
async function assertGolden(file: URL, actual: string): Promise<void> {
  if (Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(file, actual);
  }
  assert.equal(actual, await Deno.readTextFile(file));
}

for (const { name } of Deno.readDirSync(folder)) {
  if (!name.endsWith(".yaml")) continue;
  Deno.test(`--validate-only explains ${name}`, async () => {
    const report = await explain(new URL(name, folder));

    assert.match(report, /: error: /);
    const golden = new URL(name.replace(/yaml$/, "txt"), folder);
    await assertGolden(golden, report);
  });
}
