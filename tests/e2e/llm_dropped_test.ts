import assert from "node:assert/strict";
import { startProvider } from "../harness/provider_server.ts";
import { eventsOf, startTracedGateway } from "../harness/traced_gateway.ts";
import { translationTargets } from "../harness/translation_targets.ts";

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
