import type { JsonObject } from "../../../base/json.ts";

/** A mark: the provider caches the prompt up to and with the part that has it. */
export interface CacheMark {
  /** Lifetime; `undefined` is the provider's own. */
  readonly ttl: "5m" | "1h" | undefined;
}

interface Markable {
  readonly cache?: CacheMark | undefined;
}

/** Content in Base64. */
export interface MediaData {
  readonly mediaType: string;
  readonly data: string;
}

/** Content in Base64 or at a URL. */
export type MediaSource = MediaData | { readonly url: string };

/** An image. */
export interface ImagePart extends Markable {
  readonly type: "image";
  readonly source: MediaSource;
}

/** A file, such as a PDF. */
export interface DocumentPart extends Markable {
  readonly type: "document";
  readonly name: string | undefined;
  readonly source: MediaSource;
}

/** Some text. */
export interface TextPart extends Markable {
  readonly type: "text";
  readonly text: string;
}

/** Content from a user, or from a tool. */
export type ContentPart = TextPart | ImagePart | DocumentPart;

/** A call of a tool by the model. */
export interface ToolCallPart extends Markable {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Opaque state of the model's reasoning, which Gemini wants back. */
  readonly signature?: string | undefined;
}

/** The result of a call. */
export interface ToolResultPart extends Markable {
  readonly type: "toolResult";
  readonly id: string;
  readonly content: readonly ContentPart[];
  readonly isError: boolean;
}

/** Reasoning of the model, which providers want back with its signature. */
export interface ThinkingPart {
  readonly type: "thinking";
  readonly text: string;
  readonly signature: string;
  /** The reasoning is encrypted: it is the signature, and there is no text. */
  readonly isRedacted?: boolean;
}

/** A part of a turn. */
export type Part = ContentPart | ToolCallPart | ToolResultPart | ThinkingPart;

/** A turn of one side; a `system` turn instructs the model in mid-conversation, and has texts only. */
export interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly parts: readonly Part[];
}

/** A function that the model may call. */
export interface Tool extends Markable {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonObject;
  readonly strict: boolean;
}

/** Which tool the model calls: any or none as it likes, none, at least one, or this one. */
export type ToolChoice = "auto" | "none" | "required" | {
  readonly name: string;
};

/** A format of the answer; without a schema, any JSON object. */
export interface AnswerFormat {
  readonly schema: JsonObject | undefined;
  readonly name?: string | undefined;
}

/** Amounts of reasoning, least first. */
export const efforts = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const;

/** Amount of reasoning. */
export type Effort = typeof efforts[number];

/** Amount of reasoning that a client wants: an effort, a number of tokens, or both. */
export interface Reasoning {
  readonly effort: Effort | undefined;
  readonly tokens: number | undefined;
  /** The client shows it. */
  readonly isShown?: boolean;
}

/** A request for an answer of a model, in no provider's form. Fields that are `undefined` are left to the provider. */
export interface ChatRequest {
  readonly model: string;
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: boolean | undefined;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly stop: readonly string[];
  readonly seed: number | undefined;
  readonly frequencyPenalty: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly format: AnswerFormat | undefined;
  readonly reasoning: Reasoning | undefined;
  readonly user: string | undefined;
  readonly stream: boolean;
  /** The client wants the usage of a stream. */
  readonly includeUsage: boolean;
  /** Names in the client's API. */
  readonly names: FieldNames;
  /** Tools of OpenAI's responses by the names that other APIs know them by. */
  readonly origins?: ReadonlyMap<string, ToolOrigin>;
}

/** A tool as OpenAI's responses have it. */
export interface ToolOrigin {
  readonly name: string;
  readonly namespace: string | undefined;
  /** Its input is a text, no object. */
  readonly isCustom: boolean;
}

/** Settings that not every provider has, and that only advise it. */
export type Hint =
  | "cache"
  | "format"
  | "frequencyPenalty"
  | "parallelCalls"
  | "presencePenalty"
  | "reasoning"
  | "seed"
  | "strict"
  | "temperature"
  | "topK"
  | "topP"
  | "user";

/** Names of hints in the API of a client: those that it has. */
export type FieldNames = Readonly<Partial<Record<Hint, string>>>;

/** Tokens that an answer used. */
export interface AnswerUsage {
  /** With those of the prompt cache. */
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of `cacheWrite`, tokens that are kept for an hour. */
  readonly cacheWrite1h?: number | undefined;
  /** With those of reasoning. */
  readonly output: number;
  readonly reasoning: number | undefined;
}

/** The reason why an answer ended. */
export type FinishReason = "stop" | "length" | "toolCalls" | "contentFilter";

/** A piece of an answer, whole or streamed, in no provider's form. */
export type AnswerEvent =
  | { readonly type: "start"; readonly id: string; readonly model: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "signature"; readonly signature: string }
  /** Encrypted reasoning. */
  | { readonly type: "redacted"; readonly data: string }
  /** An image, at a URL of any scheme. */
  | { readonly type: "image"; readonly url: string }
  | {
    readonly type: "toolCall";
    readonly id: string;
    readonly name: string;
    readonly signature?: string | undefined;
  }
  /** The next characters of the JSON input of the latest call. */
  | { readonly type: "toolInput"; readonly json: string }
  | { readonly type: "usage"; readonly usage: AnswerUsage }
  | {
    readonly type: "finish";
    readonly reason: FinishReason;
    readonly stopSequence?: string | undefined;
  }
  | {
    readonly type: "error";
    readonly status: number;
    readonly message: string;
  };

/** Reads the answer of a provider. */
export interface AnswerReader {
  /** Reads a whole answer. */
  whole(answer: JsonObject): readonly AnswerEvent[];
  /** Reads an event of a stream. */
  event(event: JsonObject): readonly AnswerEvent[];
  /** Returns what is left when the stream ends in order. */
  end(): readonly AnswerEvent[];
}

/** Writes an answer in the form of a client's API. */
export interface AnswerWriter {
  /** Writes a whole answer. */
  whole(events: readonly AnswerEvent[]): JsonObject;
  /** Writes an event of a stream, as text of `text/event-stream`; empty when there is nothing to write yet. */
  event(event: AnswerEvent): string;
  /** Writes the end of a stream. */
  end(): string;
}
