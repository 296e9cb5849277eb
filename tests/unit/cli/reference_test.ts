import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { describeFile } from "../../../cli/schema/reference.ts";
import { fileSchema } from "../../../src/config/file_schema.ts";
import { defaultLimits } from "../../../src/http/server/contract/server_options.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";

const file = new URL("../../../examples/REFERENCE.md", import.meta.url);
const reference = describeFile(await fileSchema(schemasOf()));

/** Returns the cells of a field's row in a section. */
function rowOf(section: string, field: string): readonly string[] {
  const text = reference.split(/^### /m)
    .find((part) => part.startsWith(`${section}\n`)) ?? "";
  const row = text.split("\n").find((line) =>
    line.startsWith(`| \`${field}\``)
  );
  assert.ok(row, `${section} has no row for ${field}`);
  return row.split("|").slice(1, -1).map((cell) => cell.trim());
}

Deno.test("examples/REFERENCE.md is the reference that the schema generates", () => {
  if (Deno.env.get("GOLDEN") === "update") {
    Deno.writeTextFileSync(file, reference);
  }

  assert.equal(
    Deno.readTextFileSync(file),
    reference,
    "run `make golden` and read the diff",
  );
});

Deno.test("describeFile names every variable that a rule may read", () => {
  const [row = ""] = /^.*Rules over.*$/m.exec(reference) ?? [];
  for (const variable of ["request", "jwt", "apiKey", "mcp", "llm"]) {
    assert.match(row, new RegExp(`\`${variable}\``));
  }
});

Deno.test("describeFile documents every field", () => {
  const rows = reference.split("\n").filter((line) => line.startsWith("| `"));

  assert.ok(rows.length > 200);
  assert.deepEqual(rows.filter((row) => !/[.] \|$/.test(row)), []);
});

Deno.test("describeFile links to sections that exist", () => {
  const sections = new Set(
    [...reference.matchAll(/^### (.*)$/gm)].map(([, title = ""]) =>
      title.toLowerCase()
    ),
  );
  const links = [...reference.matchAll(/\]\(#([^)]*)\)/g)].map(([, to]) => to);

  assert.ok(links.length > 0);
  assert.deepEqual(links.filter((to = "") => !sections.has(to)), []);
});

for (const { name, description } of builtInPolicies.kinds) {
  Deno.test(`describeFile describes ${name}`, () => {
    const [, , , meaning] = rowOf("Traffic", name);

    assert.equal(meaning, description);
  });
}

Deno.test("describeFile states the listener defaults of the server", () => {
  const defaultOf = (field: string) =>
    rowOf("`gateways`", `gateways.<name>.${field}`)[2];

  assert.deepEqual(
    [
      defaultOf("timeouts.requestHeaders"),
      defaultOf("timeouts.requestBody"),
      defaultOf("timeouts.idle"),
      defaultOf("maxConnections"),
    ],
    [
      `\`${defaultLimits.requestHeadersTimeoutMs / 1000}s\``,
      `\`${defaultLimits.bodyIdleTimeoutMs / 1000}s\``,
      `\`${defaultLimits.keepAliveTimeoutMs / 1000}s\``,
      `\`${defaultLimits.maxConnections}\``,
    ],
  );
});
