/** Files of the repository, for the tests that check them. */

/** URL of the top folder, with a slash at the end. */
export const root = new URL("../../", import.meta.url);

/** Returns the paths, relative to the top folder, of the modules of the product, without tests and tools. */
export async function productFiles(): Promise<string[]> {
  return (await repositoryFiles()).filter((path) =>
    /^((src|admin|cli)\/.*|main|mod)\.tsx?$/.test(path)
  );
}

/** Returns the paths, relative to the top folder, of all files that belong into version control. */
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

/** Reads a file whose path is relative to the top folder. */
export function readFile(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, root));
}
