/** Enough for an event with a body of 2 MiB in base64. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * Yields the lines of UTF-8 text without terminators, including an unterminated last line.
 * @throws {RangeError} When a line is longer than 16 Mi characters.
 */
export async function* readLines(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    const pieces = decoder.decode(chunk, { stream: true }).split("\n");
    const rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      yield withoutReturn(parts.join("") + piece);
      parts = [];
      length = 0;
    }
    parts.push(rest);
    length += rest.length;
    if (length > MAX_LINE_LENGTH) {
      throw new RangeError(
        `expected lines of at most ${MAX_LINE_LENGTH} characters`,
      );
    }
  }
  const last = withoutReturn(parts.join("") + decoder.decode());
  if (last !== "") yield last;
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
