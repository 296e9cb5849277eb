import { Buffer } from "node:buffer";
import type { Body } from "../../../http/body.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import type { RestResponse } from "./tool_result.ts";

/** Longer responses are not read to the end. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Reads a response up to a limit.
 * @param onChunk Called when a part has arrived.
 * @throws {GatewayError} When it is malformed, truncated or late.
 */
export async function readResponse(
  { status, headers, body }: ResponseMessage,
  onChunk: () => void,
): Promise<RestResponse> {
  return {
    status,
    mediaType: headers.getJoined("content-type") ?? "",
    ...await readBytes(body, MAX_BYTES, onChunk),
  };
}

/** Reads a body up to a limit; the rest of a longer one is discarded. @throws {GatewayError} */
export async function readBytes(
  body: Body | undefined,
  limit: number,
  onChunk?: () => void,
): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (body !== undefined && length <= limit) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    onChunk?.();
    // The buffer of a chunk is used again.
    chunks.push(chunk.slice(0, limit - length));
    length += chunk.length;
  }
  const isCut = length > limit;
  if (isCut) body?.cancel("too long");
  return { bytes: Buffer.concat(chunks), isCut };
}
