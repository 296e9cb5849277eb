import { GrowingBuffer } from "../../base/bytes.ts";
import { createDecoder } from "../format/content_decoder.ts";
import { estimateLongInput, estimateUnread } from "./input_estimate.ts";

/** Content of a request's body. */
export interface RequestContent {
  /** Decoded; `undefined` when it is too long, corrupt, or in an unknown coding. */
  readonly bytes: Uint8Array | undefined;
  /** Estimated tokens. */
  readonly input: number;
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
  if (!isDecoded || size > maxBytes) {
    const input = estimateUnread(Math.max(size, maxBytes));
    return { bytes: undefined, input };
  }
  const bytes = content.take();
  return { bytes, input: await estimateLongInput(bytes) };
}
