import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  type ProviderServer,
  startProvider,
} from "../../../harness/llm/provider_server.ts";

const MANY = 40_000;

async function openGateway(provider: ProviderServer, name = "Gemini") {
  return await startTestGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: { provider: name, host: provider.host, plainText: true },
      }],
    }],
  });
}

const user = { role: "user", content: "Hi" };
const manyLists = Array.from({ length: MANY }, () => []);

function callOf(args: string) {
  return {
    role: "assistant",
    tool_calls: [{
      id: "c1",
      type: "function",
      function: { name: "f", arguments: args },
    }],
  };
}

for (
  const [what, body, message] of [
    [
      "many messages",
      { messages: Array.from({ length: MANY }, () => user) },
      /too many values/,
    ],
    [
      "a schema with many values",
      {
        messages: [user],
        tools: [{
          type: "function",
          function: { name: "f", parameters: { enum: manyLists } },
        }],
      },
      /too many values/,
    ],
    [
      "arguments with many values",
      { messages: [user, callOf(JSON.stringify({ a: manyLists }))] },
      /arguments.* at most 30000 values/,
    ],
    [
      "arguments of several calls with many values",
      {
        messages: [
          user,
          ...[0, 1, 2].map(() =>
            callOf(JSON.stringify({ a: manyLists.slice(0, MANY / 6) }))
          ),
        ],
      },
      /"messages\[3\].*arguments.* at most 30000 values/,
    ],
    [
      "many fields",
      {
        messages: [user],
        ...Object.fromEntries(
          Array.from({ length: 1000 }, (_, index) => [`f${index}`, null]),
        ),
      },
      /at most 500 fields/,
    ],
  ] as const
) {
  Deno.test(`a request with ${what} is not translated`, async () => {
    await using provider = startProvider();
    await using gateway = await openGateway(provider);

    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "m1", ...body }),
    });

    assert.equal(response.status, 400);
    assert.match(await response.text(), message);
    assert.deepEqual(provider.requests, []);
  });
}

Deno.test("an answer with many values is not translated", async () => {
  await using provider = startProvider(() =>
    Response.json({ candidates: manyLists })
  );
  await using gateway = await openGateway(provider);

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m1", messages: [user] }),
  });
  await response.body?.cancel();

  assert.equal(response.status, 502);
  assert.equal(
    response.headers.get("x-gateway-error"),
    "llm_response_invalid",
  );
});

Deno.test("a long request with few values is translated", async () => {
  await using provider = startProvider(() =>
    Response.json({
      candidates: [{
        content: { parts: [{ text: "Hi" }] },
        finishReason: "STOP",
      }],
    })
  );
  await using gateway = await openGateway(provider);

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      model: "m1",
      messages: [{ role: "user", content: "[,{".repeat(MANY * 10) }],
    }),
  });
  await response.body?.cancel();

  assert.equal(response.status, 200);
});

Deno.test("a list of very many models is not filtered", async () => {
  await using provider = startProvider(() =>
    Response.json({
      data: Array.from({ length: 6000 }, (_, index) => ({ id: `m${index}` })),
    })
  );
  await using gateway = await startTestGateway({
    routes: [{
      name: "models",
      policies: {
        authorization: {
          policy: { matchExpressions: ["llm.requestModel == 'm1'"] },
        },
      },
      backends: [{ host: provider.host }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/models`);
  await response.body?.cancel();

  assert.equal(response.status, 502);
  assert.equal(response.headers.get("x-gateway-error"), "list_unreadable");
  assert.match(gateway.accessLog.join(""), /it has more than 5000 models/);
});
