import assert from "node:assert/strict";
import { createRegistry } from "../../src/policy/policy_registry.ts";
import { builtInPolicies } from "../../src/policy/registry.ts";
import { blocksOf } from "./documents.ts";
import { readFile, root } from "./repository.ts";

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
  const [recipe, ...others] = await programsIn("CONTRIBUTING.md", path);
  const examples = [
    ...await programsIn("mod.ts", "mod.ts"),
    ...await programsIn("docs/library.md", "mod.ts"),
  ];
  assert(recipe !== undefined && others.length === 0 && path !== "");
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
