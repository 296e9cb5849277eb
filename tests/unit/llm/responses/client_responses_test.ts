import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { ClientResponses } from "../../../../src/llm/responses/client_responses.ts";
import { MemoryStoredResponses } from "../../../../src/llm/responses/stored_responses.ts";

function said(response: string, text: string) {
  return {
    type: "message",
    id: `msg_${response}_0`,
    role: "assistant",
    content: [{ type: "output_text", text }],
  };
}

function responseOf(id: string, text: string) {
  return { id: `resp_${id}`, output: [said(id, text)] };
}

function user(content: string) {
  return { role: "user", content };
}

async function kept(): Promise<MemoryStoredResponses> {
  const store = new MemoryStoredResponses();
  const anna = new ClientResponses(store, "anna");
  await anna.keep({ input: "One" }, responseOf("a", "First"));
  const second: JsonObject = {
    input: [user("Two")],
    previous_response_id: "resp_a",
  };
  await anna.keep(second, responseOf("b", "Second"));
  return store;
}

Deno.test("a request goes on after a response that goes on after another", async () => {
  const anna = new ClientResponses(await kept(), "anna");
  const body = { model: "m", input: "Three", previous_response_id: "resp_b" };

  assert.deepEqual(await anna.expand(body), {
    model: "m",
    input: [
      user("One"),
      said("a", "First"),
      user("Two"),
      said("b", "Second"),
      user("Three"),
    ],
  });
});

Deno.test("items are referred to by id", async () => {
  const anna = new ClientResponses(await kept(), "anna");
  const reference = { type: "item_reference", id: "msg_a_0" };

  const { input } = await anna.expand({ input: [user("Hi"), reference] });

  assert.deepEqual(input, [user("Hi"), said("a", "First")]);
});

Deno.test("a client finds what it may know, and nothing else", async () => {
  const store = await kept();
  const anna = new ClientResponses(store, "anna");
  await anna.keep({ store: false, input: "x" }, responseOf("c", "Secret"));

  const rejected: readonly (readonly [string, JsonObject])[] = [
    ["bob", { previous_response_id: "resp_a" }],
    ["bob", { input: [{ type: "item_reference", id: "msg_a_0" }] }],
    ["anna\nresp_a", { previous_response_id: "" }],
    ["anna", { previous_response_id: "resp_c" }],
    ["anna", { input: [{ type: "item_reference", id: "msg_a_1" }] }],
    ["anna", { input: [{ type: "item_reference", id: "resp_a/input" }] }],
  ];
  for (const [owner, body] of rejected) {
    await assert.rejects(
      new ClientResponses(store, owner).expand(body),
      /refers to a response that the gateway does not have/,
    );
  }
});

Deno.test("a conversation that refers to itself, or is too long, is rejected", async () => {
  const anna = new ClientResponses(new MemoryStoredResponses(), "anna");
  await anna.keep(
    { input: "x", previous_response_id: "resp_a" },
    responseOf("a", "y"),
  );
  for (let index = 0; index < 40; index++) {
    const previous = `resp_l${index - 1}`;
    await anna.keep(
      { input: "x".repeat(250_000), previous_response_id: previous },
      responseOf(`l${index}`, ""),
    );
  }

  for (const id of ["resp_a", "resp_l39"]) {
    await assert.rejects(
      anna.expand({ previous_response_id: id }),
      /too many or too long/,
    );
  }
});

Deno.test("many references to one long item are rejected", async () => {
  const anna = new ClientResponses(new MemoryStoredResponses(), "anna");
  await anna.keep({ input: "x" }, responseOf("a", "y".repeat(200_000)));
  const reference = { type: "item_reference", id: "msg_a_0" };

  await assert.rejects(
    anna.expand({ input: Array(100_000).fill(reference) }),
    /too many or too long/,
  );
});

Deno.test("the oldest responses make room for new ones, and none is too long", async () => {
  const store = new MemoryStoredResponses();
  const record = "a".repeat(200_000);
  for (let index = 0; index < 100; index++) {
    await store.keep(`r${index}`, record);
  }
  await store.keep("long", record + record);

  assert.equal(await store.find("r0"), undefined);
  assert.equal(await store.find("long"), undefined);
  assert.equal(await store.find("r99"), record);
});
