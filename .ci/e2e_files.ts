/**
 * Prints the end-to-end tests that start the gateway as a process, for `make e2e`. The others run in the process of the tests,
 * so the executable makes no difference to them.
 */
const root = new URL("../", import.meta.url);

interface Module {
  readonly namesExecutable: boolean;
  readonly imports: readonly string[];
}

/** Modules that have been read, by their URLs. */
const modules = new Map<string, Module>();

function read(url: string): Module {
  const known = modules.get(url);
  if (known !== undefined) return known;
  const text = Deno.readTextFileSync(new URL(url));
  const module = {
    namesExecutable: text.includes("GATEWAY_BIN"),
    imports: [...text.matchAll(/from "(\.[^"]+\.ts)"/g)].map(([, path = ""]) =>
      new URL(path, url).href
    ),
  };
  modules.set(url, module);
  return module;
}

/** Returns whether the test, or a module that it imports, reads the path of the executable. */
function startsExecutable(url: string, seen = new Set<string>()): boolean {
  if (seen.has(url)) return false;
  seen.add(url);
  const { namesExecutable, imports } = read(url);
  return namesExecutable ||
    imports.some((imported) => startsExecutable(imported, seen));
}

/** Lists the tests of a folder and of the folders in it. */
function testsIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap((entry) => {
    if (entry.isDirectory) return testsIn(`${folder}${entry.name}/`);
    return entry.name.endsWith("_test.ts") ? [`${folder}${entry.name}`] : [];
  });
}

for (const path of testsIn("tests/e2e/").sort()) {
  // deno-lint-ignore no-console -- prints its result
  if (startsExecutable(new URL(path, root).href)) console.log(path);
}
