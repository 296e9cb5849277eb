import type { JsonObject } from "../../../base/json.ts";
import type { LlmFamily } from "../../providers/operation.ts";
import type {
  AnswerReader,
  ChatRequest,
} from "../conversation/conversation.ts";
import type { NameLimits } from "../conversation/fitted_names.ts";
import type { MediaPart } from "../conversation/remote_parts.ts";
import type { Losses } from "../conversation/losses.ts";
import { converseFacts } from "../conversation/model_facts.ts";
import { ChatReader } from "./chat_reader.ts";
import { ConverseReader } from "./converse_reader.ts";
import { GeminiReader } from "./gemini_reader.ts";
import { mediaTypeOf } from "./media_types.ts";
import { MessagesReader } from "./messages_reader.ts";
import { ResponsesReader } from "./responses_reader.ts";
import { writeChatRequest } from "./write_chat.ts";
import { writeConverseRequest } from "./write_converse.ts";
import { writeGeminiRequest } from "./write_gemini.ts";
import { writeMessagesRequest } from "./write_messages.ts";
import { writeResponsesRequest } from "./write_responses.ts";

/** Name of an API of providers: OpenAI's family has two. */
export type TargetName = LlmFamily | "responses";

/** An API of providers that the gateway translates to. */
export interface TargetApi {
  readonly family: LlmFamily;
  /** Name of the operation, as in paths. */
  operation(stream: boolean): string;
  /** Query of a stream. */
  readonly streamQuery: string;
  /** Names that it accepts. */
  readonly names: NameLimits;
  /** It has no stop sequences: the gateway ends an answer there. */
  readonly lacksStop?: true;
  /** Reports whether a model caches prompts that have marks; none does unless given. */
  caches?(request: ChatRequest): boolean;
  /** Reports whether it takes an image or a file as bytes only, not at a URL; all URLs are taken unless given. */
  needsBytes?(part: MediaPart): boolean;
  write(request: ChatRequest, losses: Losses): JsonObject;
  createReader(request: ChatRequest, id: string): AnswerReader;
}

/** The APIs that the gateway translates to. */
export const targetApis: Readonly<Record<TargetName, TargetApi>> = {
  openai: {
    family: "openai",
    operation: () => "chat/completions",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^.{1,40}$/s, maxLength: 40 },
    needsBytes: ({ type }) => type === "document",
    write: writeChatRequest,
    createReader: (_, id) => new ChatReader(id),
  },
  responses: {
    family: "openai",
    operation: () => "responses",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^.{1,64}$/s, maxLength: 64 },
    lacksStop: true,
    write: writeResponsesRequest,
    createReader: () => new ResponsesReader(),
  },
  anthropic: {
    family: "anthropic",
    operation: () => "messages",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^[\w-]{1,256}$/, maxLength: 64 },
    caches: () => true,
    write: writeMessagesRequest,
    createReader: (request) => new MessagesReader(request),
  },
  gemini: {
    family: "gemini",
    operation: (stream) => stream ? "streamGenerateContent" : "generateContent",
    streamQuery: "?alt=sse",
    names: {
      tool: /^[A-Za-z_][\w.:-]{0,62}$/,
      id: /^.{1,256}$/s,
      maxLength: 63,
    },
    // With an URL, Gemini wants the type of what is there.
    needsBytes: ({ source }) =>
      "url" in source && source.url.startsWith("https:") &&
      mediaTypeOf(source.url) === undefined,
    write: writeGeminiRequest,
    createReader: (_, id) => new GeminiReader(id),
  },
  bedrock: {
    family: "bedrock",
    operation: (stream) => stream ? "converse-stream" : "converse",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^[\w.:-]{1,64}$/, maxLength: 64 },
    caches: ({ model }) => converseFacts(model).caches,
    needsBytes: () => true,
    write: writeConverseRequest,
    createReader: (request, id) => new ConverseReader(request, id),
  },
};
