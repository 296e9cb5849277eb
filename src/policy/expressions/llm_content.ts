import { GatewayError } from "../../base/errors.ts";
import { showValues } from "../../base/log/log_text.ts";
import { isDecodable } from "../../llm/format/content_decoder.ts";
import type { RequestMessage } from "../../http/message.ts";
import {
  readRequestContent,
  type RequestContent,
} from "../../llm/request/request_content.ts";
import {
  estimateLongInput,
  estimateUnread,
} from "../../llm/request/input_estimate.ts";
import { peekBody } from "./peeked_body.ts";
import { assertReadableContent, contentProblem } from "./readable_content.ts";

/**
 * Reads the body of a request to an LLM, decoded, and leaves the request unchanged.
 * @param maxBytes Longer bodies are not read, and count as this many bytes.
 * @throws {GatewayError} If servers may read the body differently, or it has a coding that nobody here knows: it may be of any length.
 */
export async function readLlmContent(
  request: RequestMessage,
  maxBytes: number,
): Promise<RequestContent> {
  const { headers } = request;
  const coding = headers.getJoined("content-encoding") ?? "identity";
  if (coding === "identity") assertReadableContent(headers);
  else if (!isDecodable(coding)) throw unknownCoding(coding);
  const body = await peekBody(request, maxBytes);
  if (body === undefined) {
    return { bytes: undefined, input: estimateUnread(maxBytes) };
  }
  return coding === "identity"
    ? { bytes: body, input: await estimateLongInput(body) }
    : await readRequestContent(body, coding, maxBytes);
}

function unknownCoding(coding: string): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "downstream",
    `Cannot count the request: expected content coding gzip, deflate, br or zstd, got ${
      showValues([coding])
    }`,
  );
}

/**
 * Reads the body of a request that may be for an LLM, as its path does not tell. Content that is no JSON is not read, as uploads may
 * be endless: it counts as its length, or as `maxBytes` if that is not known.
 */
export async function readPossibleContent(
  request: RequestMessage,
  maxBytes: number,
): Promise<RequestContent> {
  const { body, headers } = request;
  const isReadable = headers.has("content-encoding") ||
    contentProblem(headers) === undefined;
  if (isReadable && possibleType.test(headers.get("content-type") ?? "")) {
    return await readLlmContent(request, maxBytes);
  }
  const length = body === undefined ? 0 : body.length ?? maxBytes;
  return { bytes: undefined, input: estimateUnread(length) };
}

/** Many servers read JSON whatever its type is. */
const possibleType = /^(?:$|text\/plain|application\/(?:[\w.+-]+\+)?json)/i;
