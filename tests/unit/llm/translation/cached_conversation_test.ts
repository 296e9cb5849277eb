import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";
import { BilledPromptCache } from "../../../harness/llm/prompt_cache.ts";

const TURNS = 50;
const instructions = "You are a patient assistant. ".repeat(40);
const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
};

interface Client {
  readonly family: LlmFamily;
  readonly name: string;
  /** Writes a conversation of texts of the user and the assistant in turn, the last one of the user. */
  request(texts: readonly string[]): JsonObject;
}

function roleAt(index: number, assistant = "assistant"): string {
  return index % 2 === 0 ? "user" : assistant;
}

const clients: readonly Client[] = [
  {
    family: "openai",
    name: "chat/completions",
    request: (texts) => ({
      messages: [
        { role: "system", content: instructions },
        ...texts.map((content, index) => ({ role: roleAt(index), content })),
      ],
      tools: [{
        type: "function",
        function: { name: "weather", parameters: schema },
      }],
    }),
  },
  {
    family: "openai",
    name: "responses",
    request: (texts) => ({
      instructions,
      input: texts.map((text, index) => ({
        role: roleAt(index),
        content: [{
          type: index % 2 === 0 ? "input_text" : "output_text",
          text,
        }],
      })),
      tools: [{
        type: "function",
        name: "weather",
        strict: false,
        parameters: schema,
      }],
    }),
  },
  {
    family: "anthropic",
    name: "messages",
    request: (texts) => ({
      max_tokens: 1000,
      system: [{
        type: "text",
        text: instructions,
        cache_control: { type: "ephemeral" },
      }],
      messages: texts.map((text, index) => ({
        role: roleAt(index),
        content: [{
          type: "text",
          text,
          ...(index === texts.length - 1 &&
            { cache_control: { type: "ephemeral" } }),
        }],
      })),
      tools: [{ name: "weather", input_schema: schema }],
    }),
  },
  {
    family: "gemini",
    name: "generateContent",
    request: (texts) => ({
      systemInstruction: { parts: [{ text: instructions }] },
      contents: texts.map((text, index) => ({
        role: roleAt(index, "model"),
        parts: [{ text }],
      })),
      tools: [{
        functionDeclarations: [{
          name: "weather",
          parametersJsonSchema: schema,
        }],
      }],
    }),
  },
];

const targets = {
  anthropic: "claude-sonnet-4-5",
  bedrock: "anthropic.claude-sonnet-4-5-20250929-v1:0",
  openai: "gpt-4o",
  gemini: "gemini-2.5-pro",
} as const;

function costs(
  { family, name, request }: Client,
  target: keyof typeof targets,
  marksCaches: boolean,
) {
  const cache = new BilledPromptCache(target);
  const texts: string[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn > 0) texts.push(`Answer ${turn}. ${"It is so. ".repeat(turn)}`);
    texts.push(`Question ${turn}? ${"Tell me more. ".repeat(20)}`);
    const { body } = translate({ family, name }, request(texts), {
      ...{ target, model: targets[target], marksCaches, unsupported: "Drop" },
      ...{ id: `request-${turn}`, now: Date.UTC(2026, 0, 1) + turn * 1000 },
    });
    cache.bill(body);
  }
  return cache.cost / cache.ideal;
}

for (const client of clients) {
  for (const target of ["anthropic", "bedrock", "openai", "gemini"] as const) {
    const isOwn = client.family === target;
    if (isOwn) continue;
    Deno.test(`a conversation of ${TURNS} turns from ${client.name} costs at ${target} what a direct one does`, () => {
      const ratio = costs(client, target, true);
      assert(ratio <= 1.02, `${ratio}`);
    });
  }
}

Deno.test("without marks, Anthropic and Bedrock bill the whole conversation in each turn", () => {
  const [chat] = clients;
  assert(chat !== undefined);
  for (const target of ["anthropic", "bedrock"] as const) {
    const ratio = costs(chat, target, false);
    assert(ratio > 4, `${ratio}`);
  }
});
