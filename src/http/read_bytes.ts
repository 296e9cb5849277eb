import { GrowingBuffer } from "../base/bytes.ts";
import type { Body } from "./body.ts";

/**
 * Reads a body up to a limit, and discards the rest of a longer one.
 * @param onChunk Called when a part has arrived.
 */
export async function readUpTo(
  body: Body | undefined,
  limit: number,
  onChunk?: () => void,
): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }> {
  const bytes = new GrowingBuffer();
  let isCut = false;
  while (body !== undefined && !isCut) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    onChunk?.();
    const room = limit - bytes.length;
    isCut = chunk.length > room;
    bytes.append(isCut ? chunk.subarray(0, room) : chunk);
  }
  if (isCut) body?.cancel("too long");
  return { bytes: bytes.take(), isCut };
}

/** Reads a whole body. @throws {RangeError} When it is longer than `limit` bytes. */
export async function readBytes(
  body: Body | undefined,
  limit: number,
): Promise<Uint8Array> {
  const { bytes, isCut } = await readUpTo(body, limit);
  if (isCut) throw new RangeError(`the response exceeds ${limit} bytes`);
  return bytes;
}
