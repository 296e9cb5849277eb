import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import { objectOf } from "./conversation/answer_fields.ts";
import { withAutomaticMarks } from "./conversation/automatic_marks.ts";
import { converseFacts } from "./conversation/model_facts.ts";
import { ChatWriter } from "./clients/chat_writer.ts";
import { readChatRequest } from "./clients/read_chat.ts";
import type {
  AnswerEvent,
  AnswerReader,
  AnswerWriter,
  ChatRequest,
  ItemStore,
} from "./conversation/conversation.ts";
import { fitNames, type NameLimits } from "./conversation/fitted_names.ts";
import {
  Losses,
  noCounterpart,
  type Unsupported,
} from "./conversation/losses.ts";
import { MessagesWriter } from "./clients/messages_writer.ts";
import { GeminiWriter } from "./clients/gemini_writer.ts";
import { readGeminiRequest } from "./clients/read_gemini.ts";
import { readResponsesRequest } from "./clients/read_responses.ts";
import { ResponsesWriter } from "./clients/responses_writer.ts";
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
  readonly family: LlmFamily;
  read(body: JsonObject, losses: Losses, items: ItemStore): ChatRequest;
  createWriter(
    request: ChatRequest,
    now: number,
    items: ItemStore,
  ): AnswerWriter;
}

/** An API of providers that the gateway translates to. */
interface TargetApi {
  /** Name of the operation, as in paths. */
  operation(stream: boolean): string;
  /** Query of a stream. */
  readonly streamQuery: string;
  /** Names that it accepts. */
  readonly names: NameLimits;
  /** Reports whether a model caches prompts that have marks; none does unless given. */
  caches?(request: ChatRequest): boolean;
  write(request: ChatRequest, losses: Losses): JsonObject;
  createReader(request: ChatRequest, id: string): AnswerReader;
}

/** By the names of their operations. */
const clientApis: ReadonlyMap<string, ClientApi> = new Map<string, ClientApi>([
  ["chat/completions", {
    family: "openai",
    read: readChatRequest,
    createWriter: ({ includeUsage }, now) => new ChatWriter(includeUsage, now),
  }],
  ["responses", {
    family: "openai",
    read: readResponsesRequest,
    createWriter: (request, now, items) =>
      new ResponsesWriter(request, now, items),
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

const targetApis: Readonly<Record<LlmFamily, TargetApi>> = {
  openai: {
    operation: () => "chat/completions",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^.{1,40}$/s, maxLength: 40 },
    write: writeChatRequest,
    createReader: (_, id) => new ChatReader(id),
  },
  anthropic: {
    operation: () => "messages",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^[\w-]{1,256}$/, maxLength: 64 },
    caches: () => true,
    write: writeMessagesRequest,
    createReader: (request) => new MessagesReader(request),
  },
  gemini: {
    operation: (stream) => stream ? "streamGenerateContent" : "generateContent",
    streamQuery: "?alt=sse",
    names: {
      tool: /^[A-Za-z_][\w.:-]{0,62}$/,
      id: /^.{1,256}$/s,
      maxLength: 63,
    },
    write: writeGeminiRequest,
    createReader: (_, id) => new GeminiReader(id),
  },
  bedrock: {
    operation: (stream) => stream ? "converse-stream" : "converse",
    streamQuery: "",
    names: { tool: /^[\w-]{1,64}$/, id: /^[\w.:-]{1,64}$/, maxLength: 64 },
    caches: ({ model }) => converseFacts(model).caches,
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
  /** Names of the fields that the provider does not get. */
  readonly losses: readonly string[];
}

/** Reports whether the gateway translates an operation. */
export function isTranslatable({ family, name }: LlmOperation): boolean {
  return clientApis.get(name)?.family === family;
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
  /** Treatment of settings without a counterpart. */
  readonly unsupported: Unsupported;
  /** Prompts without marks for a cache get some, where the provider needs them. */
  readonly marksCaches?: boolean;
  /** Parts of earlier answers of the client. */
  readonly items?: ItemStore;
}

const noItems: ItemStore = { keep: () => undefined, find: () => undefined };

/**
 * Translates a request between APIs.
 * @throws {UntranslatableError} When it has something without a counterpart in the other API.
 */
export function translate(
  { name }: LlmOperation,
  body: JsonObject,
  { target, model, id, now, items = noItems, ...options }: TranslationOptions,
): Translation {
  const client = clientApis.get(name);
  if (client === undefined) throw noCounterpart(name);
  const api = targetApis[target];
  const losses = new Losses(options.unsupported);
  const named = model === undefined ? body : { ...body, model };
  const read = client.read(named, losses, items);
  const marked = options.marksCaches === true && api.caches?.(read) === true
    ? withAutomaticMarks(read)
    : read;
  const { request, restore } = fitNames(marked, api.names);
  return {
    operation: { family: target, name: api.operation(read.stream) },
    query: read.stream ? api.streamQuery : "",
    body: api.write(request, losses),
    stream: read.stream,
    reader: restoring(api.createReader(request, id), restore),
    writer: client.createWriter(read, now, items),
    losses: losses.names,
  };
}

/** Reads an answer with the names that the client knows. */
function restoring(
  reader: AnswerReader,
  restore: (event: AnswerEvent) => AnswerEvent,
): AnswerReader {
  return {
    whole: (answer) => reader.whole(answer).map(restore),
    event: (event) => reader.event(event).map(restore),
    end: () => reader.end().map(restore),
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
