import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import type { LlmOperation } from "../providers/operation.ts";
import { objectOf } from "./conversation/answer_fields.ts";
import type { OnResponse } from "./clients/responses_writer.ts";
import { clientApis } from "./clients/client_apis.ts";
import { targetApis, type TargetName } from "./targets/target_apis.ts";
import { withAutomaticMarks } from "./conversation/automatic_marks.ts";
import type {
  AnswerEvent,
  AnswerReader,
  AnswerWriter,
} from "./conversation/conversation.ts";
import { fitNames } from "./conversation/fitted_names.ts";
import {
  type FetchedMedia,
  remoteUrls,
  withMedia,
} from "./conversation/remote_parts.ts";
import { stopping } from "./conversation/stop_sequences.ts";
import {
  Losses,
  noCounterpart,
  type Unsupported,
} from "./conversation/losses.ts";

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
  /** The provider's API. */
  readonly target: TargetName;
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
  /** `false` if the provider takes images and files as bytes only, although others with its API take URLs. */
  readonly takesUrls?: boolean | undefined;
  /** Receives the whole response, for clients that may refer to it by id. */
  readonly onResponse?: OnResponse;
}

/** A request that has been read, and can be written in the form of the provider. */
export interface ReadRequest {
  /** URLs of images and files that the provider takes as bytes only. */
  readonly urls: readonly string[];
  /** @throws {UntranslatableError} When something has no counterpart in the other API, such as a URL that `media` does not have. */
  write(media?: FetchedMedia): Translation;
}

/**
 * Translates a request between APIs.
 * @throws {UntranslatableError} When it has something without a counterpart in the other API.
 */
export function translate(
  operation: LlmOperation,
  body: JsonObject,
  options: TranslationOptions,
): Translation {
  return readRequest(operation, body, options).write();
}

/**
 * Reads a request in the form of a client's API.
 * @throws {UntranslatableError}
 */
export function readRequest(
  { name }: LlmOperation,
  body: JsonObject,
  { target, model, id, now, onResponse = () => {}, ...options }:
    TranslationOptions,
): ReadRequest {
  const client = clientApis.get(name);
  if (client === undefined) throw noCounterpart(name);
  const api = targetApis[target];
  const losses = new Losses(options.unsupported);
  const named = model === undefined || model === body["model"]
    ? body
    : { ...body, model };
  const read = client.read(named, losses);
  const marked = options.marksCaches === true && api.caches?.(read) === true
    ? withAutomaticMarks(read)
    : read;
  const { request, restore } = fitNames(marked, api.names);
  const needsBytes = options.takesUrls === false
    ? () => true
    : api.needsBytes ?? (() => false);
  return {
    urls: remoteUrls(request, needsBytes),
    write(media = new Map()) {
      const body = api.write(withMedia(request, media), losses);
      const own = api.createReader(request, id);
      const reader = restore === undefined ? own : restoring(own, restore);
      return {
        operation: { family: api.family, name: api.operation(read.stream) },
        query: read.stream ? api.streamQuery : "",
        body,
        stream: read.stream,
        reader: api.lacksStop === true ? stopping(reader, read.stop) : reader,
        writer: client.createWriter(read, now, onResponse),
        losses: losses.names,
      };
    },
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
