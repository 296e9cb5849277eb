import assert from "node:assert/strict";
import { createRegistry } from "../../src/policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../src/policy/registry.ts";
import { blocksOf } from "./documents.ts";
import { readFile, repositoryFiles, root } from "./repository.ts";

/** Returns the programs of a document, with imports as of the module at `path`. */
async function programsIn(document: string, path: string): Promise<string[]> {
  const text = (await readFile(document)).replaceAll(/^ \* ?/gm, "");
  return blocksOf(text, "ts").map((program) =>
    program.text.replaceAll(
      /from "(\.[^"]+)"/g,
      (_, module) => `from "${new URL(module, new URL(path, root)).href}"`,
    )
  );
}

// One run of the type checker for all, as it takes seconds.
Deno.test("the programs in CONTRIBUTING.md, mod.ts and docs/library.md compile, and the policy can be registered", async () => {
  const [, path = ""] = /^1\. Write `(src\/policy\/[a-z_/]+\.ts)`\./m.exec(
    await readFile("CONTRIBUTING.md"),
  ) ?? [];
  // The others are parts of files; `tests/unit/ci/recipes_test.ts` applies them.
  const [recipe] = await programsIn("CONTRIBUTING.md", path);
  const examples = [
    ...await programsIn("mod.ts", "mod.ts"),
    ...await programsIn("docs/library.md", "mod.ts"),
  ];
  assert(recipe !== undefined && path !== "");
  assert(examples.length > 3);
  const folder = await Deno.makeTempDir();
  const files = [recipe, ...examples].map((text, index) => {
    const file = `${folder}/${index}.ts`;
    Deno.writeTextFileSync(file, text);
    return file;
  });

  const check = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--config=deno.json", ...files],
    cwd: root,
  }).output();
  const { maintenance } = await import(`file://${files[0]}`);
  const registry = createRegistry([...builtInPolicies.kinds, maintenance]);

  assert(check.success, new TextDecoder().decode(check.stderr));
  assert(registry.rejections.has("maintenance"));
  await Deno.remove(folder, { recursive: true });
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
