import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import {
  isTranslatable,
  translate,
} from "../../../../src/llm/translation/translation.ts";

/** Requests of clients, one for each form that a client gives them; from the test cassettes of pydantic/pydantic-ai (MIT), shortened. */
const file = new URL(
  "../../../fixtures/llm/recorded_requests.jsonl",
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
  readonly body: Readonly<Record<string, unknown>>;
}

const models: readonly (readonly [LlmFamily, string])[] = [
  ["openai", "gpt-4o"],
  ["openai", "gpt-5.6"],
  ["anthropic", "claude-sonnet-4-5"],
  ["anthropic", "claude-opus-5"],
  ["gemini", "gemini-2.5-flash"],
  ["gemini", "gemini-3-pro"],
  ["bedrock", "us.anthropic.claude-sonnet-4-6"],
  ["bedrock", "amazon.nova-pro-v1:0"],
];

/** Parts of errors that name what changes the meaning of a request: tools that the provider runs, files that it keeps, sound, other models. */
const meanings = new RegExp(
  [
    ...[/type: (?!function)[\w:]+"/, /file_id/, /mcp_servers/, /container/],
    ...[/web_search_options/, /search_settings/, /moderation/, /preset/],
    ...[/"models"/, /source\.type/, /at a URL/, /no data: URL/],
    ...[/previous_response_id/, /conversation/, /background/, /tool_choice/],
    ...[/format with tools/, /responseMimeType with tools/, /"provider"/],
    ...[/input\[\d+\]\.id/, /"tools\[\d+\]\.\w+"/, /mimeType: /, /fileUri/],
    ...[/[lL]ogprobs/, /responseModalities/, /imageConfig/, /speechConfig/],
    ...[/cachedContent/, /modelArmorConfig/, /safetySettings/],
    /parts\[\d+\]\.(?:videoMetadata|executableCode|codeExecutionResult|tool\w+)/,
  ].map(({ source }) => source).join("|"),
);

const requests: readonly Recorded[] = (await Deno.readTextFile(file)).trim()
  .split("\n").map((line) => JSON.parse(line));

Deno.test(`of ${requests.length} recorded requests, none is rejected for a hint`, () => {
  const rejected: string[] = [];
  for (const { kind, body } of requests) {
    const operation = operations[kind];
    if (!isTranslatable(operation)) continue;
    for (const [target, model] of models) {
      if (target === operation.family) continue;
      const options = { target, model, id: "r1", now: 0 };
      try {
        translate(operation, body, { ...options, unsupported: "Drop" });
      } catch (error) {
        assert(error instanceof Error);
        if (!meanings.test(error.message)) {
          rejected.push(`${kind} → ${model}: ${error.message}`);
        }
      }
    }
  }

  assert.deepEqual(rejected, []);
});
