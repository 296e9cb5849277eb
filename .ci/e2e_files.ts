/**
 * Prints the end-to-end tests that start the gateway as a process, for `make e2e`. The others run in the process of the tests,
 * so the executable makes no difference to them.
 */
const root = new URL("../", import.meta.url);

/** Returns whether the test, or a module that it imports, reads the path of the executable. */
async function startsExecutable(
  module: URL,
  seen = new Set<string>(),
): Promise<boolean> {
  if (seen.has(module.href)) return false;
  seen.add(module.href);
  const text = await Deno.readTextFile(module);
  if (text.includes("GATEWAY_BIN")) return true;
  for (const [, path = ""] of text.matchAll(/from "(\.[^"]+\.ts)"/g)) {
    if (await startsExecutable(new URL(path, module), seen)) return true;
  }
  return false;
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
  if (await startsExecutable(new URL(path, root))) console.log(path);
}
