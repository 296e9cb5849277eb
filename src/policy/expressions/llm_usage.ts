import { NANO_USD } from "../../base/log/log_text.ts";
import type { Value } from "../cel/library.ts";
import { lazyMap } from "../cel/values.ts";
import type { FieldName } from "../cel/variables.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { isStreamingPath } from "../../llm/llm_api.ts";
import { isTokenStream } from "../../llm/usage/first_output.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { LlmRequest } from "./llm_variable.ts";
import { peekBody } from "./peeked_body.ts";

/** Fields of `llm` that describe the response; they have values once it was read. */
type UsageField = "responseModel" | "inputTokens" | "outputTokens" | "cost";

const readers: Readonly<
  Record<UsageField, (usage: TokenUsage) => Value | undefined>
> = {
  responseModel: ({ responseModel }) => responseModel,
  inputTokens: ({ inputTokens }) => BigInt(inputTokens),
  outputTokens: ({ outputTokens }) => BigInt(outputTokens),
  cost: ({ isPriced, nanoUsd }) => isPriced ? nanoUsd / NANO_USD : undefined,
};

/** Names of the fields that describe the response, such as `llm.cost`. */
export const usageFields: readonly FieldName[] = Object.keys(readers)
  .map((name) => `llm.${name}` as const);

/**
 * Creates the value of `llm`.
 * @throws {TypeError} When something other than the usage is read of an unreadable body: `has(llm.requestModel)` must not be false.
 */
export function llmValue(
  request: LlmRequest | undefined,
  usage: TokenUsage | undefined,
): Value {
  const { otherModels, ...fields } = request ?? {};
  const known: Readonly<Record<string, Value | undefined>> = fields;
  const assertRead = () => {
    if (request !== undefined) return;
    throw new TypeError(
      "the body is not a JSON object that can be read, or a batch whose requests do not all name the same model",
    );
  };
  return lazyMap(
    () => {
      assertRead();
      return [...Object.keys(known), ...(usage ? Object.keys(readers) : [])];
    },
    (name) => {
      if (isUsageField(name)) return usage && readers[name](usage);
      assertRead();
      if (name === "requestModel" && otherModels !== undefined) {
        throw new TypeError("the request names several models");
      }
      return Object.hasOwn(known, name) ? known[name] : undefined;
    },
  );
}

function isUsageField(name: string): name is UsageField {
  return Object.hasOwn(readers, name);
}

/**
 * Reads a response so that its usage is known before its headers are sent, and leaves it in the message. Streams are not read.
 * @param maxBytes Longer bodies are not read.
 * @throws {GatewayError} `body_memory_full`, when all requests together hold too much.
 */
export async function countBeforeHeaders(
  { request, responseUsage }: PolicyContext,
  response: ResponseMessage,
  maxBytes: number,
): Promise<void> {
  const isStream = isTokenStream(response.headers.getJoined("content-type")) ||
    isStreamingPath(request.target);
  if (responseUsage === undefined || isStream) return;
  const holder = { body: response.body, held: request.held };
  await peekBody(holder, maxBytes);
  response.body = holder.body;
  await responseUsage.counting;
}
