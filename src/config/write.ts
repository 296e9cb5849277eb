import { dirname, join } from "node:path";
import { listConfigFiles } from "./read.ts";

/** Reports whether the files of `-f` can be replaced; standard input cannot. */
export async function areWritable(spec: string): Promise<boolean> {
  if (spec === "-") return false;
  try {
    for (const path of await listConfigFiles(spec)) {
      const { isSymlink } = await Deno.lstat(path);
      // A link is how a ConfigMap is mounted; replacing it would detach the file.
      if (isSymlink) return false;
      (await Deno.open(path, { append: true })).close();
    }
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/**
 * Replaces a file of `-f` in one step, so that no reader sees a part of it; keeps its permissions.
 * @throws {Error} When `name` is none of the files, or cannot be written.
 */
export async function writeConfigFile(
  spec: string,
  name: string,
  text: string,
): Promise<void> {
  const files = spec === "-" ? [] : await listConfigFiles(spec);
  if (!files.includes(name)) {
    throw new TypeError("it is no file of the configuration");
  }
  const { mode } = await Deno.stat(name);
  const staging = join(dirname(name), `.${crypto.randomUUID()}.tmp`);
  try {
    await Deno.writeTextFile(staging, text, {
      createNew: true,
      ...(mode !== null && { mode: mode & 0o777 }),
    });
    await Deno.rename(staging, name);
  } catch (error) {
    await Deno.remove(staging).catch((missing: unknown) => {
      if (!(missing instanceof Deno.errors.NotFound)) throw missing;
    });
    throw error;
  }
}
