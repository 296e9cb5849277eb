import assert from "node:assert/strict";
import { blocksOf } from "./documents.ts";
import { readFile, root } from "./repository.ts";

/** Programs of documents in a folder of their own, until they are disposed. */
export interface DocumentedPrograms extends AsyncDisposable {
  readonly files: readonly string[];
  /** The policy that CONTRIBUTING.md writes; `tests/unit/ci/recipes_test.ts` applies the other recipes, which are parts of files. */
  readonly recipe: string;
}

/** Writes the programs in CONTRIBUTING.md, mod.ts and docs/library.md to files. */
export async function writeDocumentedPrograms(): Promise<DocumentedPrograms> {
  const [, path = ""] = /^1\. Write `(src\/policy\/[a-z_/]+\.ts)`\./m.exec(
    await readFile("CONTRIBUTING.md"),
  ) ?? [];
  const [policy] = await programsIn("CONTRIBUTING.md", path);
  const examples = [
    ...await programsIn("mod.ts", "mod.ts"),
    ...await programsIn("docs/library.md", "mod.ts"),
  ];
  assert(policy !== undefined && path !== "");
  assert(examples.length > 3);
  const folder = await Deno.makeTempDir();
  const recipe = `${folder}/recipe.ts`;
  const files = [recipe, ...examples.map((_, at) => `${folder}/${at}.ts`)];
  for (const [at, text] of [policy, ...examples].entries()) {
    await Deno.writeTextFile(files[at] ?? "", text);
  }
  return {
    files,
    recipe,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

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
