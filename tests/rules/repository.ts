/** The files of the repository, for the tests that check them. */

/** The top folder, ending in a slash. */
export const root = new URL("../../", import.meta.url);

/** Paths, relative to the top, of the modules that are the product: no tests, no tools. */
export async function productFiles(): Promise<string[]> {
  return (await repositoryFiles()).filter((path) =>
    /^((src|admin|cli)\/.*|main|mod)\.ts$/.test(path)
  );
}

/** Paths, relative to the top, of everything that is or will be in version control. */
export async function repositoryFiles(): Promise<string[]> {
  return (await listFiles(root, "")).sort();
}

const notOurs = new Set([".git", ".tools", "dist", "node_modules"]);

async function listFiles(directory: URL, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(directory)) {
    if (isFile) found.push(prefix + name);
    else if (isDirectory && !notOurs.has(name)) {
      found.push(
        ...await listFiles(
          new URL(`${encodeURIComponent(name)}/`, directory),
          `${prefix}${name}/`,
        ),
      );
    }
  }
  return found;
}

/** Text of a file given relative to the top. */
export function readFile(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, root));
}
