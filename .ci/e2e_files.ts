/**
 * Prints the end-to-end tests that start the gateway as a process, which is all that `make e2e` has to run against the
 * executable: the others run in the process of the tests, where `make test` already ran them.
 */
const root = new URL("../", import.meta.url);

/** The test, or a module that it imports, reads which executable to start. */
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
  // deno-lint-ignore no-console -- what it is for
  if (await startsExecutable(new URL(path, root))) console.log(path);
}
