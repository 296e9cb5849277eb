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

const names = Array.from(
  Deno.readDirSync(new URL("tests/e2e/", root)),
  ({ name }) => name,
);
for (const name of names.sort()) {
  const path = `tests/e2e/${name}`;
  if (!name.endsWith("_test.ts")) continue;
  // deno-lint-ignore no-console -- prints its result
  if (await startsExecutable(new URL(path, root))) console.log(path);
}
