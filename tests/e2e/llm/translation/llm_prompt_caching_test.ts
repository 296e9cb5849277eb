import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";

const mark = { type: "ephemeral" };

/** Sends a request to Anthropic with `promptCaching: Auto`; returns the body that arrives. */
async function received(path: string, body: unknown, promptCaching = "Auto") {
  await using provider = startProvider();
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        llm: {
          provider: "Anthropic",
          host: provider.host,
          plainText: true,
          promptCaching,
        },
      }],
    }],
  });
  const response = await fetch(gateway.origin + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.text();
  return JSON.parse(provider.requests[0]?.body ?? "null");
}

const messages = [{ role: "user", content: "Hello" }];
const request = { model: "claude-sonnet-4-5", max_tokens: 10, messages };

Deno.test("a request to Anthropic without marks gets one for the whole prompt", async () => {
  const body = await received("/v1/messages", request);

  assert.deepEqual(body, { ...request, cache_control: mark });
});

Deno.test("marks of the client stay as they are", async () => {
  const marked = {
    ...request,
    system: [{ type: "text", text: "Be brief.", cache_control: mark }],
  };

  assert.deepEqual(await received("/v1/messages", marked), marked);
});

Deno.test("a translated request gets marks at the system text and the question", async () => {
  const body = await received("/v1/chat/completions", {
    model: "claude-sonnet-4-5",
    messages: [{ role: "system", content: "Be brief." }, ...messages],
  });

  assert.deepEqual(body.system, [
    { type: "text", text: "Be brief.", cache_control: mark },
  ]);
  assert.deepEqual(body.messages, [{
    role: "user",
    content: [{ type: "text", text: "Hello", cache_control: mark }],
  }]);
});

Deno.test("nothing is marked by default", async () => {
  const body = await received("/v1/messages", request, "Client");

  assert.deepEqual(body, request);
});
