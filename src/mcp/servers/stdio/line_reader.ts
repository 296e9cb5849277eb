/** A line has no end within its limit. */
export class LongLine extends Error {
  override readonly name = "LongLine";
}

/**
 * Yields the lines of a stream, without empty ones.
 * @throws {LongLine} For a line of more than `maxBytes` bytes.
 */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let parts: Uint8Array[] = [];
  let length = 0;
  const takeLine = (end: Uint8Array) => {
    let line = "";
    for (const part of parts) line += decoder.decode(part, { stream: true });
    line += decoder.decode(end);
    parts = [];
    length = 0;
    return line.trim();
  };
  for await (const chunk of stream) {
    let begin = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, begin);
      if (end < 0) break;
      const line = takeLine(chunk.subarray(begin, end));
      begin = end + 1;
      if (line !== "") yield line;
    }
    if (begin === chunk.length) continue;
    const part = chunk.subarray(begin);
    length += part.length;
    if (length > maxBytes) throw new LongLine(`More than ${maxBytes} bytes`);
    parts.push(part);
  }
  const last = takeLine(new Uint8Array());
  if (last !== "") yield last;
}

const LINE_FEED = 10;
