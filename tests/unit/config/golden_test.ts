import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { basename } from "node:path";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig } from "../../../src/config/load.ts";

const fixtures = new URL("../../fixtures/config/", import.meta.url);
const examples = new URL("../../../examples/", import.meta.url);
const environment = {
  PORT: "3000",
  PORT_TEXT: "three thousand",
  NAME: "tools",
};

function yamlFilesIn(folder: URL): readonly URL[] {
  return [...Deno.readDirSync(folder)]
    .filter(({ name }) => name.endsWith(".yaml"))
    .map(({ name }) => new URL(name, folder))
    .toSorted((a, b) => a.href.localeCompare(b.href));
}

function load(file: URL) {
  const source = {
    name: basename(file.pathname),
    text: Deno.readTextFileSync(file),
  };
  const loaded = loadConfig([source], environment, schemasOf());
  return { ...loaded, report: formatDiagnostics(loaded.diagnostics, [source]) };
}

/** Compares with a golden file; `GOLDEN=update` writes it instead. */
function assertGolden(file: URL, actual: string): void {
  if (Deno.env.get("GOLDEN") === "update") Deno.writeTextFileSync(file, actual);
  assert.equal(actual, Deno.readTextFileSync(file));
}

for (const file of yamlFilesIn(new URL("bad/", fixtures))) {
  Deno.test(`loadConfig explains ${basename(file.pathname, ".yaml")}`, () => {
    const { report, diagnostics } = load(file);

    assert.ok(
      diagnostics.some(({ severity }) => severity === "error"),
      "expected an error",
    );
    assertGolden(new URL(file.href.replace(/yaml$/, "txt")), report);
  });
}

for (const file of yamlFilesIn(new URL("good/", fixtures))) {
  Deno.test(`loadConfig loads ${basename(file.pathname, ".yaml")}`, () => {
    const { report, resources, settings } = load(file);

    assert.equal(report, "");
    const actual = JSON.stringify({ resources, settings }, null, 2) + "\n";
    assertGolden(new URL(file.href.replace(/yaml$/, "json")), actual);
  });
}

for (const file of yamlFilesIn(examples)) {
  Deno.test(`loadConfig reports no problem in ${basename(file.pathname)}`, () => {
    assert.equal(load(file).report, "");
  });
}
