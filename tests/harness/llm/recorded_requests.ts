import type { JsonObject } from "../../../src/base/json.ts";
import type { LlmOperation } from "../../../src/llm/providers/operation.ts";
import {
  targetApis,
  type TargetName,
} from "../../../src/llm/translation/targets/target_apis.ts";

/** Requests of clients, one for each form that a client gives them; from the test cassettes of pydantic/pydantic-ai (MIT), shortened. */
const file = new URL(
  "../../fixtures/llm/recorded_requests.jsonl",
  import.meta.url,
);

const operations = {
  chat: { family: "openai", name: "chat/completions" },
  responses: { family: "openai", name: "responses" },
  messages: { family: "anthropic", name: "messages" },
  gemini: { family: "gemini", name: "generateContent" },
} as const;

interface Recorded {
  readonly kind: keyof typeof operations;
  readonly body: JsonObject;
}

/** Requests that clients have sent. */
export const recordedRequests: readonly {
  readonly operation: LlmOperation;
  readonly body: JsonObject;
}[] = (await Deno.readTextFile(file)).trim().split("\n")
  .map((line): Recorded => JSON.parse(line))
  .map(({ kind, body }) => ({ operation: operations[kind], body }));

/** Reports whether a provider with an API takes a request as it is. */
export function isServed(
  target: TargetName,
  { family, name }: LlmOperation,
): boolean {
  return targetApis[target].family === family &&
    (family !== "openai" || targetApis[target].operation(false) === name);
}

/** Models to which they are translated, two of each API. */
export const recordedModels: readonly (readonly [TargetName, string])[] = [
  ["responses", "gpt-4o"],
  ["responses", "gpt-5.6"],
  ["openai", "gpt-4o"],
  ["openai", "gpt-5.6"],
  ["anthropic", "claude-sonnet-4-5"],
  ["anthropic", "claude-opus-5"],
  ["gemini", "gemini-2.5-flash"],
  ["gemini", "gemini-3-pro"],
  ["bedrock", "us.anthropic.claude-sonnet-4-6"],
  ["bedrock", "amazon.nova-pro-v1:0"],
];
