import assert from "node:assert/strict";
import { createRegistry } from "../../src/policy/policy_registry.ts";
import { builtInPolicies } from "../../src/policy/registry.ts";
import { blocksOf } from "./documents.ts";
import { readFile, root } from "./repository.ts";

Deno.test("the policy in CONTRIBUTING.md compiles and can be registered", async () => {
  const [, path = ""] = /^1\. Write `(src\/policy\/[a-z_/]+\.ts)`\./m.exec(
    await readFile("CONTRIBUTING.md"),
  ) ?? [];
  const [program] = blocksOf(await readFile("CONTRIBUTING.md"), "ts");
  assert(program !== undefined && path !== "");
  const folder = await Deno.makeTempDir();
  const file = `${folder}/recipe.ts`;
  await Deno.writeTextFile(
    file,
    program.text.replaceAll(
      /from "(\.[^"]+)"/g,
      (_, module) => `from "${new URL(module, new URL(path, root)).href}"`,
    ),
  );

  const check = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--config=deno.json", file],
    cwd: root,
  }).output();
  const { maintenance } = await import(`file://${file}`);
  const registry = createRegistry([...builtInPolicies.kinds, maintenance]);

  assert(check.success, new TextDecoder().decode(check.stderr));
  assert(registry.rejections.has("maintenance"));
  await Deno.remove(folder, { recursive: true });
});
