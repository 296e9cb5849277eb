import { join } from "node:path";
import { describeError } from "../base/errors.ts";
import {
  describeKind,
  MAX_FILE_BYTES,
  NotAFileError,
  readFileBytes,
} from "../base/regular_file.ts";
import type { ConfigText } from "./diagnostics/located_diagnostic.ts";

/** Configuration could not be read at all; the message names the file. */
export class ConfigReadError extends Error {
  override readonly name = "ConfigReadError";
}

/**
 * Reads what `-f` names: a file, `-` for standard input, or the `.yaml`, `.yml` and `.json` files directly in a
 * folder, by name. Hidden entries are skipped, so the links of a mounted ConfigMap are read once.
 * @throws {ConfigReadError} when something cannot be read, is too large or no text.
 */
export async function readConfigFiles(
  spec: string,
): Promise<readonly ConfigText[]> {
  if (spec === "-") return [await readInput()];
  const paths = await listConfigFiles(spec);
  return await Promise.all(paths.map(readFile));
}

/** The files that `-f` names, without reading them. @throws {ConfigReadError} */
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
    return { name: path, text: decode(await readFileBytes(path)) };
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
      ? "UTF-16; save it as UTF-8"
      : `something else in line ${firstBrokenLine(bytes)}`;
    throw new NotAFileError(`expected UTF-8 text, got ${found}`, { cause });
  }
}

/** The first line, counted from 1, that is no UTF-8. */
function firstBrokenLine(bytes: Uint8Array): number {
  const lossy = new TextDecoder().decode(bytes);
  const mark = lossy.indexOf("\ufffd");
  return lossy.slice(0, Math.max(0, mark)).split("\n").length;
}

function readError(name: string, error: unknown): ConfigReadError {
  if (error instanceof ConfigReadError) return error;
  // Without the cause: the message says all of it, and a log would say it twice.
  return new ConfigReadError(`Cannot read "${name}": ${reasonOf(error)}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) {
    return "no such file or directory";
  }
  return error instanceof NotAFileError ? error.message : describeError(error);
}
