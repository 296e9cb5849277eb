import assert from "node:assert/strict";
import { createRegistry } from "../../src/policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../src/policy/registry.ts";
import { writeDocumentedPrograms } from "./documented_programs.ts";
import { readFile, repositoryFiles } from "./repository.ts";

Deno.test("the policy of CONTRIBUTING.md can be registered", async () => {
  await using programs = await writeDocumentedPrograms();

  const { maintenance } = await import(`file://${programs.recipe}`);
  const registry = createRegistry([...builtInPolicies.kinds, maintenance]);

  assert(registry.rejections.has("maintenance"));
});

/** Files that the recipes tell to write. */
const written = new Set([
  "src/policy/http/maintenance.ts",
  "tests/e2e/maintenance_test.ts",
  "tests/e2e/connections_test.ts",
  "admin/endpoints/status_endpoint.ts",
]);

Deno.test("the recipes name files and functions that exist", async () => {
  const text = await readFile("CONTRIBUTING.md");
  const recipes = text.slice(
    text.indexOf("## Recipe:"),
    text.indexOf("## Releases"),
  ).replaceAll(/```[^]*?```/g, "");
  const names = recipes.matchAll(/`([^`]+)`/g).map(([, name = ""]) => name)
    .toArray();
  const files = await repositoryFiles();
  const paths = names.filter((name) => /^[\w./]+\/[\w.]+$/.test(name));
  const unknownPaths = paths.filter((path) =>
    !written.has(path) && !path.startsWith("/") &&
    !files.some((file) => file === path || file.startsWith(`${path}/`))
  );
  const sources = await Promise.all(
    files.filter((file) => /\.tsx?$/.test(file)).map(readFile),
  );
  const source = sources.join("\n");
  const unknownNames = names.filter((name) =>
    /^[a-z]+[A-Z]\w+$/.test(name) && !text.includes(`function ${name}(`) &&
    !new RegExp(`\\b${name}\\b`).test(source)
  );

  assert.deepEqual(unknownPaths, []);
  assert.deepEqual(unknownNames, []);
});
