import assert from "node:assert/strict";
import { startProvider } from "../../../harness/llm/provider_server.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../../harness/gateway/traced_gateway.ts";
import { translationTargets } from "../../../harness/llm/translation_targets.ts";

const gemini = translationTargets.find(({ provider }) => provider === "Gemini");

async function chat(unsupported: "Drop" | "Reject" | undefined) {
  await using provider = startProvider(() => Response.json(gemini?.text));
  await using gateway = await startTracedGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: {
          provider: "Gemini",
          host: provider.host,
          plainText: true,
          ...(unsupported && { unsupported }),
        },
      }],
    }],
  });
  const events = eventsOf(await gateway.watch());
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "gemini-3-pro",
      user: "u1",
      messages: [{ role: "user", content: "Hello" }],
      tools: [{ type: "function", function: { name: "look", strict: true } }],
    }),
  });
  const text = await response.text();
  const told = (await events).flatMap(({ message }) =>
    message.type === "policyEvent" ? [message.details] : []
  );
  const { accessLog } = gateway;
  return { response, text, told, accessLog, requests: provider.requests };
}

Deno.test("hints that a provider lacks are left out, and header, log and trace name them", async () => {
  const { response, told, accessLog, requests } = await chat(undefined);

  const dropped = "user, tools[].function.strict";
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-gateway-dropped"), dropped);
  assert.ok(accessLog.join("").includes("llm.dropped="));
  assert.ok(told.some((details) => JSON.stringify(details).includes(dropped)));
  assert.doesNotMatch(requests[0]?.body ?? "", /strict|u1/);
});

Deno.test("a backend can reject requests with hints that its provider lacks", async () => {
  const { response, text, requests } = await chat("Reject");

  assert.equal(response.status, 400);
  assert.equal(
    JSON.parse(text).error.message,
    '"user" has no counterpart at the provider of this model',
  );
  assert.deepEqual(requests, []);
});

Deno.test("Vertex gets the betas of Anthropic that it accepts, and Claude's requests as they are", async () => {
  await using provider = startProvider(() =>
    Response.json({ type: "message" })
  );
  await using gateway = await startTracedGateway({
    routes: [{
      name: "llm",
      backends: [{
        llm: {
          provider: "Vertex",
          host: provider.host,
          plainText: true,
          project: "p1",
          region: "global",
        },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/messages?beta=true`, {
    method: "POST",
    headers: {
      "anthropic-beta": "claude-code-20250219,context-management-2025-06-27",
    },
    body: JSON.stringify({
      model: "claude-opus-5",
      context_management: { edits: [] },
      messages: [],
    }),
  });
  await response.body?.cancel();

  const [seen] = provider.requests;
  assert.equal(
    seen?.headers.get("anthropic-beta"),
    "context-management-2025-06-27",
  );
  assert.match(seen?.target ?? "", /claude-opus-5:rawPredict/);
  assert.match(seen?.body ?? "", /context_management/);
  assert.equal(response.headers.get("x-gateway-dropped"), "anthropic-beta");
});
