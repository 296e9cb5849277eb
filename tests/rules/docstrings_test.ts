import assert from "node:assert/strict";
import { productFiles, readFile, repositoryFiles, root } from "./repository.ts";

interface Documentation {
  readonly nodes: Record<string, { symbols: Symbol[] }>;
}

interface Symbol {
  readonly name: string;
  readonly declarations: {
    declarationKind: string;
    location: { line: number };
    jsDoc?: { doc?: string };
  }[];
}

/** Runs `deno doc`, which describes the exports of modules. */
async function runDoc(...args: string[]): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["doc", ...args],
    cwd: root,
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

async function describeExports(
  files: string[],
): Promise<{ at: string; name: string; doc: string }[]> {
  const { nodes }: Documentation = JSON.parse(await runDoc("--json", ...files));
  const exports: { at: string; name: string; doc: string }[] = [];
  for (const [specifier, { symbols }] of Object.entries(nodes)) {
    const path = specifier.replace(root.href, "");
    const lines = (await readFile(path)).split("\n");
    for (const { name, declarations } of symbols) {
      const [first] = declarations;
      if (first?.declarationKind !== "export") continue;
      // Re-exports are described where they are declared. `deno doc` counts lines from zero.
      const { line } = first.location;
      if (!/^export (?!(type )?[{*])/.test(lines[line] ?? "")) continue;
      const doc = declarations.map(({ jsDoc }) => jsDoc?.doc ?? "").join("");
      exports.push({ at: `${path}:${line + 1}`, name, doc });
    }
  }
  return exports;
}

Deno.test("every export of src has a docstring with content", async () => {
  const exports = await describeExports(
    (await productFiles()).filter((path) => /^(src\/|mod\.ts)/.test(path)),
  );
  const isEmpty = (doc: string) =>
    doc === "" ||
    /^this (function|method|class|interface|type|file)\b/i.test(doc);

  assert(exports.length > 0);
  assert.deepEqual(
    exports.filter(({ doc }) => isEmpty(doc)).map(({ at, name }) =>
      `${at} ${name}`
    ),
    [],
  );
});

Deno.test("every doc comment begins with a verb or the thing", async () => {
  const found: string[] = [];
  for (const path of await repositoryFiles()) {
    if (!/^(src|admin|cli|tests)\/.*\.[jt]s$|^(main|mod)\.ts$/.test(path)) {
      continue;
    }
    const source = await readFile(path);
    for (
      const { 0: text, index } of source.matchAll(
        /\/\*\*\s+(?:\*\s+)?(?:All that|How|If|That|What|Whatever|Where|Whether|Who|Whoever|Why)\b.*/g,
      )
    ) {
      const line = source.slice(0, index).split("\n").length;
      found.push(`${path}:${line}: ${text}`);
    }
  }

  assert.deepEqual(found, []);
});
