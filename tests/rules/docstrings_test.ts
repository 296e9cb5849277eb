import assert from "node:assert/strict";
import { readFile, repositoryFiles } from "./repository.ts";

interface Source {
  readonly path: string;
  readonly text: string;
}

/** Modules of the repository, with their text. */
const modules: readonly Source[] = await Promise.all(
  (await repositoryFiles())
    .filter((path) =>
      /^(src|admin|cli|tests)\/.*\.[jt]sx?$|^(main|mod)\.ts$/.test(path)
    )
    .map(async (path) => ({ path, text: await readFile(path) })),
);

/** Finds matches in the modules that `applies` accepts, as `path:line: match`. */
function find(
  pattern: RegExp,
  applies: (path: string) => boolean = () => true,
): string[] {
  return modules.filter(({ path }) => applies(path)).flatMap((
    { path, text },
  ) =>
    [...text.matchAll(pattern)].map(({ 0: match, index }) => {
      const line = text.slice(0, index).trimEnd().split("\n").length;
      return `${path}:${line}: ${match.trim()}`;
    })
  );
}

Deno.test("every export of src has a docstring with content", () => {
  const isProduct = (path: string) => /^(src\/|mod\.ts)/.test(path);

  // Re-exports are described where they are declared.
  assert.deepEqual(
    find(/(?<!\*\/\n)^export (?!(type )?[{*]).*/gm, isProduct),
    [],
  );
  assert.deepEqual(
    find(
      /\/\*\*[\s*]*(?:\*\/|this (?:function|method|class|interface|type|file)\b.*)/gi,
      isProduct,
    ),
    [],
  );
});

Deno.test("every doc comment begins with a verb or the thing", () => {
  assert.deepEqual(
    find(
      /\/\*\*\s+(?:\*\s+)?(?:All that|How|If|That|What|Whatever|Where|Whether|Who|Whoever|Why)\b.*/g,
    ),
    [],
  );
});

Deno.test("no comment has a clause in place of its subject", () => {
  assert.deepEqual(
    find(/(?:\/\/|^ *\*\n *\*) (?:What|Who|Whoever)\b.*/gm),
    [],
  );
});
