import { describeError } from "./errors.ts";

/** Largest file that is read into memory. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** The path is not a regular file, or the file is too large; the message states which. */
export class NotAFileError extends Error {
  override readonly name = "NotAFileError";
}

/**
 * Reads a whole file. Rejects anything else, such as a named pipe, without opening it: opening a pipe blocks until a writer
 * appears.
 * @throws {NotAFileError} When the path is not a regular file, or the file is too large.
 * @throws Errors of Deno, such as `Deno.errors.NotFound`.
 */
export async function readFileBytes(
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  check(await Deno.stat(path));
  return await Deno.readFile(path);
}

/** Reads a whole file as UTF-8; see `readFileBytes`. */
export async function readFileText(path: string): Promise<string> {
  check(await Deno.stat(path));
  return await Deno.readTextFile(path);
}

/** Synchronous `readFileText`. */
export function readFileTextSync(path: string): string {
  check(Deno.statSync(path));
  return Deno.readTextFileSync(path);
}

/** @throws {NotAFileError} */
function check(file: Deno.FileInfo): void {
  if (!file.isFile) {
    throw new NotAFileError(`expected a file, got ${describeKind(file)}`);
  }
  if (file.size > MAX_FILE_BYTES) {
    throw new NotAFileError(
      `expected at most ${MAX_FILE_BYTES} bytes, got ${file.size}`,
    );
  }
}

/** Names the type of something that is not a regular file: `a named pipe`. */
export function describeKind(file: Deno.FileInfo): string {
  if (file.isDirectory) return "a directory";
  if (file.isFifo === true) return "a named pipe";
  if (file.isSocket === true) return "a socket";
  if (file.isCharDevice === true || file.isBlockDevice === true) {
    return "a device";
  }
  return "something else";
}

/** Describes why a file could not be read or its content not be used. */
export function describeReadError(error: unknown): string {
  return error instanceof Deno.errors.NotFound
    ? "no such file"
    : describeError(error);
}
