import assert from "node:assert/strict";
import type { LlmFamily } from "../../../../src/llm/providers/operation.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";

const messages = { family: "anthropic", name: "messages" } as const;
const chat = { family: "openai", name: "chat/completions" } as const;
const options = {
  model: undefined,
  id: "id-1",
  now: 0,
  unsupported: "Drop",
} as const;

const mark = { cache_control: { type: "ephemeral" } };
const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
const marked = {
  max_tokens: 100,
  tools: [{ name: "look", input_schema: { type: "object" }, ...hour }],
  system: [{ type: "text", text: "Be brief.", ...hour }],
  messages: [
    { role: "user", content: [{ type: "text", text: "Hello", ...mark }] },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "t1", name: "look", input: {} }],
    },
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "t1",
        content: "a cat",
        ...mark,
      }],
    },
    { role: "system", content: [{ type: "text", text: "Go on." }] },
  ],
};

function write(
  target: LlmFamily,
  model: string,
  body: Readonly<Record<string, unknown>> = marked,
) {
  return translate(messages, { model, ...body }, { ...options, target });
}

Deno.test("marks become cache points of Bedrock, with their lifetimes", () => {
  const { body, losses } = write("bedrock", "anthropic.claude-sonnet-4-6");
  const point = { cachePoint: { type: "default" } };
  const hourly = { cachePoint: { type: "default", ttl: "1h" } };

  assert.deepEqual(body["toolConfig"], {
    tools: [
      { toolSpec: { name: "look", inputSchema: { json: { type: "object" } } } },
      hourly,
    ],
  });
  assert.deepEqual(body["system"], [{ text: "Be brief." }, hourly]);
  assert.deepEqual(body["messages"], [
    { role: "user", content: [{ text: "Hello" }, point] },
    {
      role: "assistant",
      content: [{ toolUse: { toolUseId: "t1", name: "look", input: {} } }],
    },
    {
      role: "user",
      content: [
        { toolResult: { toolUseId: "t1", content: [{ text: "a cat" }] } },
        point,
        { text: "<system>\nGo on.\n</system>" },
      ],
    },
  ]);
  assert.deepEqual(losses, []);
});

Deno.test("models that cache by themselves get no marks, and the losses say so", () => {
  for (
    const [target, model] of [
      ["bedrock", "meta.llama4"],
      ["gemini", "gemini-3-pro"],
      ["openai", "gpt-4o"],
    ] as const
  ) {
    const { body, losses } = write(target, model);
    assert.doesNotMatch(JSON.stringify(body), /cache/);
    assert.deepEqual(losses, ["cache_control"]);
    // A mark changes no answer: nobody has to reject it.
    const strict = { ...options, target, unsupported: "Reject" } as const;
    translate(messages, { model, ...marked }, strict);
  }
});

Deno.test("GPT-5.6 and routers of Claude get marks of their own", () => {
  const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };
  const gpt = JSON.stringify(write("openai", "gpt-5.6").body["messages"]);
  const router = JSON.stringify(
    write("openai", "anthropic/claude-opus-5").body["messages"],
  );

  const text = { type: "text", text: "Be brief." };
  assert.ok(gpt.includes(JSON.stringify([{ ...text, ...breakpoint }])));
  assert.ok(router.includes(JSON.stringify([{ ...text, ...hour }])));
});

Deno.test("marks of chats reach Anthropic, those of whole messages too", () => {
  const { body, losses } = translate(chat, {
    model: "claude-opus-5",
    messages: [
      { role: "system", content: [{ type: "text", text: "Brief.", ...hour }] },
      { role: "user", content: "Hello", ...mark },
    ],
    tools: [{ type: "function", function: { name: "look" }, ...mark }],
  }, { ...options, target: "anthropic" });

  assert.deepEqual(body["system"], [{ type: "text", text: "Brief.", ...hour }]);
  assert.deepEqual(body["messages"], [
    { role: "user", content: [{ type: "text", text: "Hello", ...mark }] },
  ]);
  assert.deepEqual(body["tools"], [{
    name: "look",
    input_schema: { type: "object", properties: {} },
    ...mark,
  }]);
  assert.deepEqual(losses, []);
});

Deno.test("of more marks than a provider takes, it gets the last", () => {
  const turn = {
    role: "user",
    content: [{ type: "text", text: "a", ...mark }],
  };
  const answer = { role: "assistant", content: "b" };
  const { body } = write("bedrock", "anthropic.claude-opus-4-8", {
    ...marked,
    messages: [turn, answer, turn, answer, turn],
  });

  assert.equal(
    JSON.stringify(body["toolConfig"]).includes("cachePoint"),
    false,
  );
  assert.ok(JSON.stringify(body["system"]).includes("cachePoint"));
  assert.equal(JSON.stringify(body).split("cachePoint").length - 1, 4);
});

Deno.test("a mark of the whole request is one of its end", () => {
  const { body } = write("bedrock", "anthropic.claude-opus-4-8", {
    max_tokens: 1,
    messages: [{ role: "user", content: "Hello" }],
    ...mark,
  });

  assert.deepEqual(body["messages"], [{
    role: "user",
    content: [{ text: "Hello" }, { cachePoint: { type: "default" } }],
  }]);
});

Deno.test("tokens that a cache keeps for an hour are told apart", () => {
  const { reader, writer } = write("bedrock", "anthropic.claude-opus-4-8");
  const answer = writer.whole(reader.whole({
    output: { message: { content: [{ text: "Hi" }] } },
    stopReason: "end_turn",
    usage: {
      inputTokens: 3,
      cacheReadInputTokens: 10,
      cacheWriteInputTokens: 50,
      cacheDetails: [
        { ttl: "1h", inputTokens: 40 },
        { ttl: "5m", inputTokens: 10 },
      ],
      outputTokens: 2,
    },
  }));

  assert.deepEqual(answer["usage"], {
    input_tokens: 3,
    cache_read_input_tokens: 10,
    cache_creation_input_tokens: 50,
    cache_creation: {
      ephemeral_5m_input_tokens: 10,
      ephemeral_1h_input_tokens: 40,
    },
    output_tokens: 2,
  });
});

const lists: readonly (readonly [LlmFamily, string, string])[] = [
  ["openai", "gpt-4o", "messages"],
  ["gemini", "gemini-3-pro", "contents"],
  ["bedrock", "amazon.nova-pro-v1:0", "messages"],
];

for (const [target, model, name] of lists) {
  Deno.test(`each turn of 50 begins with the bytes of the one before at ${target}`, () => {
    const turns: { role: string; content: unknown }[] = [];
    let previous = "";
    for (let turn = 0; turn < 50; turn++) {
      const id = `t${turn}`;
      turns.push(
        turn % 7 === 3
          ? { role: "user", content: [{ type: "text", text: `Turn ${turn}` }] }
          : { role: "user", content: `Turn ${turn}` },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm", signature: "s" },
            { type: "tool_use", id, name: "mcp.look", input: { b: 1, a: 2 } },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
        },
        { role: "assistant", content: "Done." },
      );
      const { body } = write(target, model, {
        max_tokens: 1,
        tools: [{ name: "mcp.look", input_schema: { type: "object" } }],
        messages: turns,
      });
      const list = JSON.stringify(body[name]).slice(0, -1);
      assert.ok(list.startsWith(previous));
      previous = list;
    }
  });
}
