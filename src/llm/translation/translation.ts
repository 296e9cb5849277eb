import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import { objectOf } from "./conversation/answer_fields.ts";
import { ChatWriter } from "./clients/chat_writer.ts";
import { readChatRequest } from "./clients/read_chat.ts";
import type {
  AnswerReader,
  AnswerWriter,
  ChatRequest,
} from "./conversation/conversation.ts";
import { noCounterpart } from "./conversation/field_reader.ts";
import { MessagesWriter } from "./clients/messages_writer.ts";
import { readMessagesRequest } from "./clients/read_messages.ts";
import { ChatReader } from "./targets/chat_reader.ts";
import { ConverseReader } from "./targets/converse_reader.ts";
import { GeminiReader } from "./targets/gemini_reader.ts";
import { MessagesReader } from "./targets/messages_reader.ts";
import { writeChatRequest } from "./targets/write_chat.ts";
import { writeConverseRequest } from "./targets/write_converse.ts";
import { writeGeminiRequest } from "./targets/write_gemini.ts";
import { writeMessagesRequest } from "./targets/write_messages.ts";

/** An API that clients use and the gateway translates. */
interface ClientApi {
  readonly operation: string;
  read(body: JsonObject): ChatRequest;
  createWriter(request: ChatRequest, now: number): AnswerWriter;
}

/** An API of providers that the gateway translates to. */
interface TargetApi {
  /** Name of the operation, as in paths. */
  operation(stream: boolean): string;
  /** Query of a stream. */
  readonly streamQuery: string;
  write(request: ChatRequest): JsonObject;
  createReader(request: ChatRequest, id: string): AnswerReader;
}

const clientApis: Readonly<Partial<Record<LlmFamily, ClientApi>>> = {
  openai: {
    operation: "chat/completions",
    read: readChatRequest,
    createWriter: ({ includeUsage }, now) => new ChatWriter(includeUsage, now),
  },
  anthropic: {
    operation: "messages",
    read: readMessagesRequest,
    createWriter: () => new MessagesWriter(),
  },
};

const targetApis: Readonly<Record<LlmFamily, TargetApi>> = {
  openai: {
    operation: () => "chat/completions",
    streamQuery: "",
    write: writeChatRequest,
    createReader: () => new ChatReader(),
  },
  anthropic: {
    operation: () => "messages",
    streamQuery: "",
    write: writeMessagesRequest,
    createReader: (request) => new MessagesReader(request),
  },
  gemini: {
    operation: (stream) => stream ? "streamGenerateContent" : "generateContent",
    streamQuery: "?alt=sse",
    write: writeGeminiRequest,
    createReader: () => new GeminiReader(),
  },
  bedrock: {
    operation: (stream) => stream ? "converse-stream" : "converse",
    streamQuery: "",
    write: writeConverseRequest,
    createReader: (request, id) => new ConverseReader(request, id),
  },
};

/** A request in the form of a provider's API, and what translates the answer to it. */
export interface Translation {
  readonly operation: LlmOperation;
  readonly query: string;
  readonly body: JsonObject;
  readonly stream: boolean;
  readonly reader: AnswerReader;
  readonly writer: AnswerWriter;
}

/** Reports whether the gateway translates an operation. */
export function isTranslatable({ family, name }: LlmOperation): boolean {
  return clientApis[family]?.operation === name;
}

/** Options of a translation. */
export interface TranslationOptions {
  /** Family of the provider's API. */
  readonly target: LlmFamily;
  /** Model at the provider. */
  readonly model: string | undefined;
  /** Id of answers that have none. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Translates a request between APIs.
 * @throws {UntranslatableError} When it has something without a counterpart in the other API.
 */
export function translate(
  { family }: LlmOperation,
  body: JsonObject,
  { target, model, id, now }: TranslationOptions,
): Translation {
  const client = clientApis[family];
  if (client === undefined) throw noCounterpart(family);
  const api = targetApis[target];
  const read = client.read(model === undefined ? body : { ...body, model });
  return {
    operation: { family: target, name: api.operation(read.stream) },
    query: read.stream ? api.streamQuery : "",
    body: api.write(read),
    stream: read.stream,
    reader: api.createReader(read, id),
    writer: client.createWriter(read, now),
  };
}

/** Reads the message of any provider's error; `undefined` when there is none. */
export function readErrorMessage(text: string): string | undefined {
  const parsed = parseJson(text);
  // Gemini sends errors of streams as a list.
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isJsonObject(body)) return undefined;
  return stringMember(objectOf(body, "error"), "message") ??
    stringMember(body, "message") ?? stringMember(body, "Message") ??
    stringMember(body, "error");
}
