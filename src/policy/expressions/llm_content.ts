import type { RequestMessage } from "../../http/message.ts";
import {
  readRequestContent,
  type RequestContent,
} from "../../llm/request_content.ts";
import { InputEstimate } from "../../llm/usage/input_estimate.ts";
import { peekBody } from "./peeked_body.ts";
import { assertReadableContent } from "./readable_content.ts";

/**
 * Reads the body of a request to an LLM, decoded, and leaves the request unchanged.
 * @param maxBytes Longer bodies are not read, and count as this many bytes.
 * @throws {GatewayError} If servers may read the body differently.
 */
export async function readLlmContent(
  request: RequestMessage,
  maxBytes: number,
): Promise<RequestContent> {
  const { headers } = request;
  const coding = headers.getJoined("content-encoding") ?? "identity";
  if (coding === "identity") assertReadableContent(headers);
  const body = await peekBody(request, maxBytes);
  if (body === undefined) {
    return { bytes: undefined, input: InputEstimate.ofBytes(maxBytes) };
  }
  return coding === "identity"
    ? { bytes: body, input: InputEstimate.ofBody(body) }
    : await readRequestContent(body, coding, maxBytes);
}
