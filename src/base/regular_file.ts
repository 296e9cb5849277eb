/** Largest file that is read whole. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** What a path leads to is not a file that can be read whole; the message says what it is. */
export class NotAFileError extends Error {
  override readonly name = "NotAFileError";
}

/**
 * Reads a whole file. What is no file, such as a named pipe, is refused unopened: to open one waits for a writer, perhaps for ever.
 * @throws {NotAFileError} When it is no file, or too large.
 * @throws What Deno throws, such as `Deno.errors.NotFound`.
 */
export async function readFileBytes(
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  check(await Deno.stat(path));
  return await Deno.readFile(path);
}

/** As `readFileBytes`, as UTF-8 text. */
export async function readFileText(path: string): Promise<string> {
  check(await Deno.stat(path));
  return await Deno.readTextFile(path);
}

/** As `readFileText`, at once. */
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

/** What something is that is no file: `a named pipe`. */
export function describeKind(file: Deno.FileInfo): string {
  if (file.isDirectory) return "a directory";
  if (file.isFifo === true) return "a named pipe";
  if (file.isSocket === true) return "a socket";
  if (file.isCharDevice === true || file.isBlockDevice === true) {
    return "a device";
  }
  return "something else";
}
