import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { type Answer, answer, countPromptTokens, textOf } from "./answer.ts";
import {
  type Call,
  type Dialect,
  LlmError,
  namedEvent,
  type Reply,
  type RequestFields,
} from "./dialect.ts";

/** Error format of Anthropic. */
export const anthropic: Dialect = {
  requestIdHeader: "request-id",
  invalidJson: () => new LlmError(400, "The request body is not valid JSON"),
  missingField: (field) => new LlmError(400, `${field}: Field required`),
  wrongType: (field, expected) =>
    new LlmError(400, `${field}: Input should be ${expected}`),
  errorBody: ({ status, message }, requestId) => ({
    type: "error",
    error: { type: errorTypes.get(status) ?? defaultType(status), message },
    request_id: requestId,
  }),
};

const errorTypes: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [529, "overloaded_error"],
]);

function defaultType(status: number): string {
  return status >= 500 ? "api_error" : "invalid_request_error";
}

const usageDetails = {
  cache_creation: {
    ephemeral_5m_input_tokens: 0,
    ephemeral_1h_input_tokens: 0,
  },
  service_tier: "standard",
};

/** `POST /v1/messages`. */
export function createMessage({ id, fields }: Call): Reply {
  const model = fields.text("model");
  const maxTokens = fields.count("max_tokens");
  if (maxTokens === undefined) throw anthropic.missingField("max_tokens");
  const question = fields.objects("messages").findLast(({ role }) =>
    role === "user"
  );
  const reply = answer(textOf(question?.content), maxTokens);
  const head = { id: `msg_${id}`, type: "message", role: "assistant", model };
  const stop = {
    stop_reason: reply.complete ? "end_turn" : "max_tokens",
    stop_sequence: null,
  };
  const usage = {
    ...promptUsage(readBlocks(fields)),
    output_tokens: reply.tokens.length,
  };

  if (fields.flag("stream")) {
    return { events: streamMessage({ head, stop, usage, reply }) };
  }
  const content = [{ type: "text", text: reply.text }];
  return {
    json: { ...head, content, ...stop, usage: { ...usage, ...usageDetails } },
  };
}

/** `POST /v1/messages/count_tokens`. */
export function countTokens({ fields }: Call): Reply {
  fields.text("model");
  fields.objects("messages");
  const texts = readBlocks(fields).map(({ text }) => text);
  return { json: { input_tokens: countPromptTokens(texts) } };
}

interface MessageStream {
  readonly head: JsonObject;
  readonly stop: JsonObject;
  readonly usage: JsonObject;
  readonly reply: Answer;
}

function* streamMessage(
  { head, stop, usage, reply }: MessageStream,
): Iterable<string> {
  const nothingYet = { content: [], stop_reason: null, stop_sequence: null };
  const startUsage = { ...usage, output_tokens: 1, ...usageDetails };
  yield namedEvent("message_start", {
    message: { ...head, ...nothingYet, usage: startUsage },
  });
  yield namedEvent("content_block_start", {
    index: 0,
    content_block: { type: "text", text: "" },
  });
  yield namedEvent("ping", {});
  for (const text of reply.tokens) {
    yield namedEvent("content_block_delta", {
      index: 0,
      delta: { type: "text_delta", text },
    });
  }
  yield namedEvent("content_block_stop", { index: 0 });
  yield namedEvent("message_delta", { delta: stop, usage });
  yield namedEvent("message_stop", {});
}

interface Block {
  readonly text: string;
  /** True if the caller set a cache breakpoint here. */
  readonly isCacheBreakpoint: boolean;
}

/** Returns the blocks of the prompt in cache order: system, then messages. */
function readBlocks(fields: RequestFields): Block[] {
  const messages = fields.objects("messages");
  const contents = [
    fields.optional("system"),
    ...messages.map(({ content }) => content),
  ];
  return contents.filter((content) => content !== undefined).flatMap(
    (content) => {
      const parts = Array.isArray(content) ? content : [content];
      return parts.map((part) => ({
        text: textOf([typeof part === "string" ? { text: part } : part]),
        isCacheBreakpoint: isJsonObject(part) &&
          isJsonObject(part.cache_control),
      }));
    },
  );
}

/** Counts tokens before the last cache breakpoint as read from the cache; `input_tokens` are the others. */
function promptUsage(blocks: readonly Block[]): JsonObject {
  const firstUncached =
    blocks.findLastIndex(({ isCacheBreakpoint }) => isCacheBreakpoint) + 1;
  const count = (part: readonly Block[]) =>
    countPromptTokens(part.map(({ text }) => text));
  return {
    input_tokens: count(blocks.slice(firstUncached)),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: count(blocks.slice(0, firstUncached)),
  };
}
