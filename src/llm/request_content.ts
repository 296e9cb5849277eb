import { GrowingBuffer } from "../base/bytes.ts";
import { createDecoder } from "./format/content_decoder.ts";
import { textSizeOf } from "./request_size.ts";

/** Content of a request's body. */
export interface RequestContent {
  /** Decoded; `undefined` when it is too long, corrupt, or in an unknown coding. */
  readonly bytes: Uint8Array | undefined;
  /** Size in bytes for an estimate; see `textSizeOf`. */
  readonly size: number;
}

/**
 * Decodes the body of a request.
 *
 * @param maxBytes Longer content is measured, but not kept. Content that cannot be decoded counts as at least this many bytes.
 */
export async function readRequestContent(
  body: Uint8Array,
  contentEncoding: string,
  maxBytes: number,
): Promise<RequestContent> {
  const content = new GrowingBuffer();
  let size = 0;
  const decoder = createDecoder(contentEncoding, (bytes) => {
    size += bytes.length;
    if (size <= maxBytes) content.append(bytes);
  });
  decoder?.push(body);
  const isDecoded = await decoder?.finish() ?? false;
  if (!isDecoded) return { bytes: undefined, size: Math.max(size, maxBytes) };
  if (size > maxBytes) return { bytes: undefined, size };
  const bytes = content.take();
  return { bytes, size: textSizeOf(bytes) };
}
