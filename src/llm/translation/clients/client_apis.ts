import type { JsonObject } from "../../../base/json.ts";
import type { LlmFamily } from "../../providers/operation.ts";
import type {
  AnswerWriter,
  ChatRequest,
} from "../conversation/conversation.ts";
import type { Losses } from "../conversation/losses.ts";
import { ChatWriter } from "./chat_writer.ts";
import { GeminiWriter } from "./gemini_writer.ts";
import { MessagesWriter } from "./messages_writer.ts";
import { readChatRequest } from "./read_chat.ts";
import { readGeminiRequest } from "./read_gemini.ts";
import { readMessagesRequest } from "./read_messages.ts";
import { readResponsesRequest } from "./read_responses.ts";
import { type OnResponse, ResponsesWriter } from "./responses_writer.ts";

/** An API that clients use and the gateway translates. */
export interface ClientApi {
  readonly family: LlmFamily;
  read(body: JsonObject, losses: Losses): ChatRequest;
  createWriter(
    request: ChatRequest,
    now: number,
    onResponse: OnResponse,
  ): AnswerWriter;
}

/** The APIs that clients use, by the names of their operations. */
export const clientApis: ReadonlyMap<string, ClientApi> = new Map<
  string,
  ClientApi
>([
  ["chat/completions", {
    family: "openai",
    read: readChatRequest,
    createWriter: ({ includeUsage }, now) => new ChatWriter(includeUsage, now),
  }],
  ["responses", {
    family: "openai",
    read: readResponsesRequest,
    createWriter: (request, now, onResponse) =>
      new ResponsesWriter(request, now, onResponse),
  }],
  ...["generateContent", "streamGenerateContent"].map((name) =>
    [name, {
      family: "gemini",
      read: (body, losses) =>
        readGeminiRequest(body, losses, name === "streamGenerateContent"),
      createWriter: () => new GeminiWriter(),
    }] as const satisfies readonly [string, ClientApi]
  ),
  ["messages", {
    family: "anthropic",
    read: readMessagesRequest,
    createWriter: () => new MessagesWriter(),
  }],
]);
