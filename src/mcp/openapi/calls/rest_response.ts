import type { ResponseMessage } from "../../../http/message.ts";
import { readUpTo } from "../../../http/read_bytes.ts";
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
    ...await readUpTo(body, MAX_BYTES, onChunk),
  };
}
