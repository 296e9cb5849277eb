import assert from "node:assert/strict";
import { productFiles, readFile, repositoryFiles, root } from "./repository.ts";

const staticImport =
  /(?:import|export)\s+(?:type\s+)?(\*(?:\s+as\s+\w+)?|\{[^}]*\}|\w+)\s*from\s*"(\.[^"]+)"/g;
const dynamicImport = /\bimport\(\s*"(\.[^"]+)"\s*\)/g;
const declaration =
  /^export (?:async )?(?:abstract )?(function\*?|class|const|interface|type) (\w+)/gm;

/** Text of each module of the repository, by path. */
async function readModules(): Promise<ReadonlyMap<string, string>> {
  const modules = (await repositoryFiles()).filter((path) =>
    /\.tsx?$/.test(path)
  );
  return new Map(
    await Promise.all(
      modules.map(async (path) => [path, await readFile(path)] as const),
    ),
  );
}

/** Names that modules import, as `path name`; `path *` for all of a module. */
function importedNames(modules: ReadonlyMap<string, string>): Set<string> {
  const imported = new Set<string>();
  for (const [path, text] of modules) {
    const resolve = (specifier: string) =>
      new URL(specifier, new URL(path, root)).href.replace(root.href, "");
    for (const [, names = "", specifier = ""] of text.matchAll(staticImport)) {
      const target = resolve(specifier);
      if (names.startsWith("*")) imported.add(`${target} *`);
      for (const [, name] of names.matchAll(/(\w+)(?: as \w+)?\s*[,}]/g)) {
        imported.add(`${target} ${name}`);
      }
    }
    for (const [, specifier = ""] of text.matchAll(dynamicImport)) {
      const target = resolve(specifier);
      for (const [name] of text.matchAll(/\w+/g)) {
        imported.add(`${target} ${name}`);
      }
    }
  }
  return imported;
}

Deno.test("every exported value is imported elsewhere, and every exported type is used", async () => {
  const modules = await readModules();
  const imported = importedNames(modules);
  const dead: string[] = [];
  for (const path of await productFiles()) {
    const text = modules.get(path) ?? "";
    if (path === "mod.ts" || path.endsWith(".d.ts")) continue;
    // A kit of components, some of which wait for their page.
    if (path.startsWith("admin/ui/page/")) continue;
    for (const [, kind, name = ""] of text.matchAll(declaration)) {
      if (imported.has(`${path} ${name}`) || imported.has(`${path} *`)) {
        continue;
      }
      // A type that no other module imports may still describe a parameter or a result.
      const isType = kind === "interface" || kind === "type";
      const uses = text.matchAll(new RegExp(`\\b${name}\\b`, "g"));
      if (!isType || [...uses].length === 1) dead.push(`${path} ${name}`);
    }
  }

  assert.deepEqual(dead, []);
});
