import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import { clientApis } from "./clients/client_apis.ts";
import { countOf } from "./conversation/answer_fields.ts";
import type { ChatRequest } from "./conversation/conversation.ts";
import { Losses, noCounterpart } from "./conversation/losses.ts";
import {
  type FetchedMedia,
  remoteUrls,
  withMedia,
} from "./conversation/remote_parts.ts";
import { targetApis, type TargetName } from "./targets/target_apis.ts";

/** A request to count tokens in the form of a provider's API. */
export interface CountRequest {
  readonly operation: LlmOperation;
  readonly body: JsonObject;
  /** Name of the number in the answer. */
  readonly field: string;
}

/** An operation with which clients count the tokens of a request. */
interface ClientCount {
  readonly family: LlmFamily;
  /** Operation whose requests it is about. */
  readonly of: string;
  write(tokens: number): JsonObject;
}

const clientCounts: ReadonlyMap<string, ClientCount> = new Map([
  ["messages/count_tokens", {
    family: "anthropic",
    of: "messages",
    write: (tokens) => ({ input_tokens: tokens }),
  }],
  ["responses/input_tokens", {
    family: "openai",
    of: "responses",
    write: (tokens) => ({
      object: "response.input_tokens",
      input_tokens: tokens,
    }),
  }],
  ["countTokens", {
    family: "gemini",
    of: "generateContent",
    write: (tokens) => ({ totalTokens: tokens }),
  }],
]);

/** Reports whether an operation counts the tokens of a request. */
export function countsTokens({ family, name }: LlmOperation): boolean {
  return clientCounts.get(name)?.family === family;
}

/** Writes the answer to a client that counts. */
export function writeCount({ name }: LlmOperation, tokens: number): JsonObject {
  return clientCounts.get(name)?.write(tokens) ?? {};
}

/** A request to count tokens that has been read; see `ReadRequest`. */
export interface ReadCountRequest {
  readonly urls: readonly string[];
  /** Returns `undefined` for APIs that do not count. @throws {UntranslatableError} */
  write(media: FetchedMedia): CountRequest | undefined;
}

/**
 * Reads a request to count tokens.
 * @param options `wrapsCount`: the provider has the request as a member. `takesUrls`: see `TranslationOptions`.
 * @throws {UntranslatableError}
 */
export function readCountRequest(
  { name }: LlmOperation,
  body: JsonObject,
  { target, model, wrapsCount = false, takesUrls = true }: {
    readonly target: TargetName;
    readonly model: string | undefined;
    readonly wrapsCount?: boolean | undefined;
    readonly takesUrls?: boolean | undefined;
  },
): ReadCountRequest {
  const client = clientApis.get(clientCounts.get(name)?.of ?? "");
  if (client === undefined) throw noCounterpart(name);
  const losses = new Losses("Drop");
  const wrapped = body["generateContentRequest"];
  const content = isJsonObject(wrapped) ? wrapped : body;
  const request = client.read(
    model === undefined ? content : { ...content, model },
    losses,
  );
  const api = targetApis[target];
  const needsBytes = takesUrls ? api.needsBytes : () => true;
  return {
    urls: writers[target] && needsBytes ? remoteUrls(request, needsBytes) : [],
    write: (media) =>
      writers[target]?.(
        api.write(withMedia(request, media), losses),
        request,
        wrapsCount,
      ),
  };
}

type CountWriter = (
  body: JsonObject,
  request: ChatRequest,
  wraps: boolean,
) => CountRequest;

const writers: Readonly<Partial<Record<TargetName, CountWriter>>> = {
  gemini({ systemInstruction, tools, contents }, request, wraps) {
    const content = { systemInstruction, tools, contents };
    const model = `models/${request.model}`;
    return {
      operation: { family: "gemini", name: "countTokens" },
      body: wraps ? { generateContentRequest: { model, ...content } } : content,
      field: "totalTokens",
    };
  },
  bedrock: ({ messages, system, toolConfig }) => ({
    operation: { family: "bedrock", name: "count-tokens" },
    body: { input: { converse: { messages, system, toolConfig } } },
    field: "inputTokens",
  }),
  anthropic({ model, messages, system, tools, tool_choice, thinking }) {
    return {
      operation: { family: "anthropic", name: "messages/count_tokens" },
      body: { model, messages, system, tools, tool_choice, thinking },
      field: "input_tokens",
    };
  },
  responses({ model, input, tools, tool_choice, text, reasoning }) {
    return {
      operation: { family: "openai", name: "responses/input_tokens" },
      body: { model, input, tools, tool_choice, text, reasoning },
      field: "input_tokens",
    };
  },
};

/** Reads the number of a provider's answer; 0 without one. */
export function readCount(answer: unknown, field: string): number {
  return isJsonObject(answer) ? countOf(answer, field) : 0;
}
