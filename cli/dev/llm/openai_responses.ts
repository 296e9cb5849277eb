import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, answer, countPromptTokens, textOf } from "./answer.ts";
import {
  type Call,
  CREATED_AT,
  namedEvent,
  type Reply,
  type RequestFields,
} from "./dialect.ts";
import { countCachedTokens, openAi } from "./openai.ts";

/** `POST /v1/responses`. */
export function createResponse({ id, fields }: Call): Reply {
  const model = fields.text("model");
  const texts = readInput(fields);
  const reply = answer(texts.at(-1) ?? "", fields.count("max_output_tokens"));
  const instructions = textOf(fields.optional("instructions"));
  const prompt = countPromptTokens(
    instructions === "" ? texts : [instructions, ...texts],
  );

  const item = messageItem(id, reply);
  const pending = {
    id: `resp_${id}`,
    object: "response",
    created_at: CREATED_AT,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: instructions === "" ? null : instructions,
    model,
    output: [],
    usage: null,
    metadata: {},
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    temperature: 1,
    top_p: 1,
  };
  const done = {
    ...pending,
    status: item.status,
    incomplete_details: reply.complete ? null : { reason: "max_output_tokens" },
    output: [item],
    usage: responseUsage(prompt, reply.tokens.length),
  };
  if (!fields.flag("stream")) return { json: done };
  return { events: streamResponse({ pending, done, item, reply }) };
}

/** Returns the texts of the input, which is a string or a list of messages. */
function readInput(fields: RequestFields): string[] {
  const input = fields.optional("input");
  if (input === undefined) throw openAi.missingField("input");
  if (typeof input === "string") return [input];
  return fields.objects("input").map(({ content }) => textOf(content));
}

type MessageItem = ReturnType<typeof messageItem>;

function messageItem(id: string, reply: Answer) {
  return {
    id: `msg_${id}`,
    type: "message",
    status: reply.complete ? "completed" : "incomplete",
    role: "assistant",
    content: [textPart(reply.text)],
  };
}

function textPart(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

interface ResponseStream {
  readonly pending: JsonObject;
  readonly done: JsonObject;
  readonly item: MessageItem;
  readonly reply: Answer;
}

function* streamResponse(
  { pending, done, item, reply }: ResponseStream,
): Iterable<string> {
  let sequence = 0;
  const event = (type: string, fields: JsonObject) =>
    namedEvent(`response.${type}`, { ...fields, sequence_number: sequence++ });
  const inPart = { item_id: item.id, output_index: 0, content_index: 0 };

  yield event("created", { response: pending });
  yield event("in_progress", { response: pending });
  const opened = { ...item, status: "in_progress", content: [] };
  yield event("output_item.added", { output_index: 0, item: opened });
  yield event("content_part.added", { ...inPart, part: textPart("") });
  for (const delta of reply.tokens) {
    yield event("output_text.delta", { ...inPart, delta, logprobs: [] });
  }
  yield event("output_text.done", {
    ...inPart,
    text: reply.text,
    logprobs: [],
  });
  yield event("content_part.done", { ...inPart, part: textPart(reply.text) });
  yield event("output_item.done", { output_index: 0, item });
  yield event(item.status, { response: done });
}

function responseUsage(input: number, output: number): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: countCachedTokens(input) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
