import assert from "node:assert/strict";
import { readFile, repositoryFiles, root } from "./repository.ts";

const files = await repositoryFiles();
const binary = /\.(png|ico|gz|zip|woff2|der|bin)$/;

async function findLines(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for (const path of files.filter((path) => !binary.test(path))) {
    for (const [index, line] of (await readFile(path)).split("\n").entries()) {
      if (pattern.test(line)) {
        found.push(`${path}:${index + 1}: ${line.trim()}`);
      }
    }
  }
  return found;
}

Deno.test("no file contains a path of a developer's machine", async () => {
  const here = [root.pathname, `${Deno.env.get("HOME") ?? ""}/`].filter((
    path,
  ) => path.length > 1);
  const places = [
    ...here.map(RegExp.escape),
    String.raw`\/(home|Users)\/[a-z]+\/`,
  ];

  assert.deepEqual(await findLines(new RegExp(places.join("|"))), []);
});

Deno.test("no file contains the host of a package registry", async () => {
  assert.deepEqual(
    await findLines(
      /\b(registry\.(npmjs|yarnpkg)\.|npm\.pkg\.github\.|jsr\.io\b|deno\.land\b)/,
    ),
    [],
  );
});

Deno.test("no two files of the product have one base name", () => {
  const product = files.filter((path) =>
    /^(src|admin|cli)\//.test(path) && !path.endsWith("/README.md")
  );
  const byName = Map.groupBy(product, (path) => path.split("/").at(-1) ?? "");

  assert.deepEqual(
    [...byName].filter(([, paths]) => paths.length > 1),
    [],
  );
});

const MAX_ENTRIES = 20;

Deno.test(`no folder of the product has more than ${MAX_ENTRIES} entries`, () => {
  const entries = new Map<string, Set<string>>();
  for (const path of files) {
    if (!/^(src|admin|cli)\//.test(path)) continue;
    const names = path.split("/");
    for (const [depth, name] of names.entries()) {
      const folder = names.slice(0, depth).join("/");
      entries.set(folder, (entries.get(folder) ?? new Set()).add(name));
    }
  }

  assert.deepEqual(
    [...entries].flatMap(([folder, { size }]) =>
      size > MAX_ENTRIES ? [`${folder}: ${size} entries`] : []
    ),
    [],
  );
});

Deno.test("every module is named in snake_case", () => {
  const modules = files.filter((path) => /\.tsx?$/.test(path));

  assert.deepEqual(
    modules.filter((path) =>
      !/^([a-z0-9_.]+\/)*[a-z0-9_]+(\.d)?\.tsx?$/.test(path)
    ),
    [],
  );
});

Deno.test("every folder of unit tests has the name of a folder of the product", () => {
  const rooms = new Set(
    files.map((path) => /^(?:src\/|\.)?([a-z_0-9]+)\//.exec(path)?.[1]),
  );
  const tests = files.filter((path) => /^tests\/unit\/[^/]+\//.test(path));

  assert.deepEqual(tests.filter((path) => !rooms.has(path.split("/")[2])), []);
});
