import { join } from "node:path";
import { describeError } from "../base/errors.ts";
import type { ConfigSource } from "./diagnostic.ts";

/** Largest file that is read. */
export const maxFileBytes = 8 * 1024 * 1024;

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
): Promise<readonly ConfigSource[]> {
  if (spec === "-") {
    return [{
      name: "<stdin>",
      text: await readText(Deno.stdin.readable, "<stdin>"),
    }];
  }
  const paths = await listConfigFiles(spec);
  return await Promise.all(paths.map(readFile));
}

/** The files that `-f` names, without reading them. @throws {ConfigReadError} */
export async function listConfigFiles(
  spec: string,
): Promise<readonly string[]> {
  try {
    const { isDirectory } = await Deno.stat(spec);
    if (!isDirectory) return [spec];
    const paths: string[] = [];
    for await (const { name } of Deno.readDir(spec)) {
      if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) continue;
      const path = join(spec, name);
      if ((await Deno.stat(path)).isFile) paths.push(path);
    }
    if (paths.length > 0) return paths.toSorted();
  } catch (error) {
    throw readError(spec, error);
  }
  throw new ConfigReadError(
    `Cannot read "${spec}": no .yaml, .yml or .json file in this directory`,
  );
}

async function readFile(path: string): Promise<ConfigSource> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
  } catch (error) {
    throw readError(path, error);
  }
  return { name: path, text: await readText(file.readable, path) };
}

async function readText(
  stream: ReadableStream<Uint8Array>,
  name: string,
): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.byteLength;
      if (bytes > maxFileBytes) {
        throw new ConfigReadError(
          `Cannot read "${name}": larger than ${maxFileBytes} bytes`,
        );
      }
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    throw readError(name, error);
  }
}

function readError(name: string, error: unknown): ConfigReadError {
  if (error instanceof ConfigReadError) return error;
  // Without the cause: the message says all of it, and a log would say it twice.
  if (error instanceof Deno.errors.NotFound) {
    return new ConfigReadError(
      `Cannot read "${name}": no such file or directory`,
    );
  }
  const reason = error instanceof TypeError
    ? "the file is not UTF-8 text"
    : describeError(error);
  return new ConfigReadError(`Cannot read "${name}": ${reason}`);
}
