import { dirname, join } from "node:path";
import { describeError } from "../base/errors.ts";
import {
  describeKind,
  MAX_FILE_BYTES,
  NotAFileError,
  readFileBytes,
} from "../base/regular_file.ts";
import type { ConfigText } from "./diagnostics/located_diagnostic.ts";

/** The configuration could not be read; the message names the file. */
export class ConfigReadError extends Error {
  /** Always `ConfigReadError`. */
  override readonly name = "ConfigReadError";
}

/**
 * Reads the source of `-f`: a file, `-` for standard input, or the `.yaml`, `.yml` and `.json` files directly in a directory,
 * by name. Skips hidden entries, so that the links of a mounted ConfigMap are read once.
 * @throws {ConfigReadError} When something cannot be read, is too large or is not UTF-8.
 */
export async function readConfigFiles(
  spec: string,
): Promise<readonly ConfigText[]> {
  if (spec === "-") return [await readInput()];
  const paths = await listConfigFiles(spec);
  return await Promise.all(paths.map(readFile));
}

/** Lists the files of `-f`. @throws {ConfigReadError} */
export async function listConfigFiles(
  spec: string,
): Promise<readonly string[]> {
  const found = await statOrThrow(spec);
  if (found.isFile) return [spec];
  if (!found.isDirectory) throw notReadable(spec, found);
  const paths: string[] = [];
  try {
    for await (const { name } of Deno.readDir(spec)) {
      if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) continue;
      const path = join(spec, name);
      if ((await statOrThrow(path)).isFile) paths.push(path);
    }
  } catch (error) {
    throw readError(spec, error);
  }
  if (paths.length > 0) return paths.toSorted();
  throw new ConfigReadError(
    `Cannot read "${spec}": no .yaml, .yml or .json file in this directory`,
  );
}

async function statOrThrow(path: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    throw readError(path, error);
  }
}

function notReadable(path: string, found: Deno.FileInfo): ConfigReadError {
  const hint = found.isFifo === true ? '; "-f -" reads standard input' : "";
  const kind = describeKind(found);
  return new ConfigReadError(
    `Cannot read "${path}": expected a file or a directory, got ${kind}${hint}`,
  );
}

async function readFile(path: string): Promise<ConfigText> {
  try {
    const text = decode(await readFileBytes(path));
    return { name: path, text, expectsLastLineEnd: true };
  } catch (error) {
    throw readError(path, error);
  }
}

async function readInput(): Promise<ConfigText> {
  const name = "<stdin>";
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const chunk of Deno.stdin.readable) {
      size += chunk.byteLength;
      if (size > MAX_FILE_BYTES) {
        throw new NotAFileError(`expected at most ${MAX_FILE_BYTES} bytes`);
      }
      chunks.push(chunk);
    }
    return { name, text: decode(await new Blob(chunks).bytes()) };
  } catch (error) {
    throw readError(name, error);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    const [first, second] = bytes;
    const isUtf16 = (first === 0xff && second === 0xfe) ||
      (first === 0xfe && second === 0xff);
    const found = isUtf16
      ? "UTF-16; save the file as UTF-8"
      : `invalid bytes in line ${firstInvalidLine(bytes)}`;
    throw new NotAFileError(`expected UTF-8 text, got ${found}`, { cause });
  }
}

/** Returns the first line, counted from 1, that is not UTF-8. */
function firstInvalidLine(bytes: Uint8Array): number {
  const lossy = new TextDecoder().decode(bytes);
  const mark = lossy.indexOf("\ufffd");
  return lossy.slice(0, Math.max(0, mark)).split("\n").length;
}

function readError(name: string, error: unknown): ConfigReadError {
  if (error instanceof ConfigReadError) return error;
  // Without a cause: the message includes it, and a log would repeat it.
  return new ConfigReadError(`Cannot read "${name}": ${reasonOf(error)}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) {
    return "no such file or directory";
  }
  return error instanceof NotAFileError ? error.message : describeError(error);
}

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
