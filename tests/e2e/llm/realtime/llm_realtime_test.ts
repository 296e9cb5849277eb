/** WebSockets of OpenAI's Realtime API through LLM backends, which have the key and the model. */
import assert from "node:assert/strict";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { openRealtime } from "../../../harness/clients/realtime_client.ts";
import {
  realtimeResponse,
  realtimeUsage,
  startRealtimeProvider,
} from "../../../harness/llm/realtime_provider.ts";

const KEY = "sk-of-the-gateway";

function startProvider() {
  return startRealtimeProvider(() => realtimeResponse(realtimeUsage(80, 20)));
}

function start(
  host: string,
  llm: Readonly<Record<string, unknown>> = {},
  policies: Readonly<Record<string, unknown>> = {},
) {
  return startTestGateway({
    routes: [{
      name: "voice",
      backends: [{
        llm: {
          provider: "OpenAICompatible",
          host,
          plainText: true,
          credentials: { key: KEY },
          ...llm,
        },
      }],
      policies,
    }],
  });
}

/** Sends the upgrade; returns the status of a response that is none. */
async function rejection(origin: string, path: string) {
  const { status, bytes } = await fetchRaw(`${origin}${path}`, {
    headers: {
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": btoa("0123456789abcdef"),
    },
  });
  return { status, text: new TextDecoder().decode(bytes) };
}

Deno.test("a client like a browser converses with the gateway's key, its model, and a budget", async () => {
  await using provider = startProvider();
  await using gateway = await start(
    provider.host,
    { aliases: { voice: "gpt-realtime" } },
    {
      rateLimit: { local: [{ tokens: 150, unit: "Hours" }] },
      authorization: {
        policy: { matchExpressions: ["llm.requestModel == 'voice'"] },
      },
    },
  );
  const traced = await gateway.gateway.dataPlane.traceNext({});
  assert("stream" in traced);
  const socket = new WebSocket(
    `${gateway.origin.replace("http", "ws")}/v1/realtime?model=voice`,
    ["realtime", "openai-insecure-api-key.sk-of-the-client"],
  );
  const closed = Promise.withResolvers<CloseEvent>();
  socket.onclose = (event) => closed.resolve(event);
  let text = "";
  socket.onmessage = ({ data }) => {
    const { type, delta = "" } = JSON.parse(data);
    text += delta;
    if (type === "session.created" || type === "response.done") {
      socket.send(JSON.stringify({ type: "response.create" }));
    }
  };
  const { code, reason } = await closed.promise;

  assert.equal(text, "HelloHello");
  assert.deepEqual([code, reason], [1008, "rate limit exceeded"]);
  const [upgrade] = provider.upgrades;
  assert.equal(upgrade?.get("authorization"), `Bearer ${KEY}`);
  assert.equal(upgrade.get("sec-websocket-protocol"), "realtime");
  assert.deepEqual(provider.targets, ["/v1/realtime?model=gpt-realtime"]);
  const events = await Array.fromAsync(traced.stream);
  const seen = JSON.stringify(events) + gateway.log.join("") +
    gateway.accessLog.join("");
  assert(seen.includes("sec-websocket-protocol"));
  assert(!seen.includes("sk-of-the-client"));
  assert(!seen.includes(KEY));
});

Deno.test("a rule about the model, several models, calls, and changed fields keep a WebSocket from its provider", async () => {
  await using provider = startProvider();
  await using ruled = await start(provider.host, {}, {
    authorization: {
      policy: { matchExpressions: ["llm.requestModel == 'voice'"] },
    },
  });
  await using changed = await start(provider.host, {
    overrides: { temperature: 0 },
  });
  await using open = await start(provider.host);

  const other = await rejection(ruled.origin, "/v1/realtime?model=other");
  const two = await rejection(open.origin, "/v1/realtime?model=a&model=b");
  const call = await rejection(open.origin, "/v1/realtime?call_id=rtc_1");
  const none = await rejection(changed.origin, "/v1/realtime?model=voice");

  assert.equal(other.status, 403);
  assert.equal(two.status, 400);
  assert.match(two.text, /several models/);
  assert.equal(call.status, 400);
  assert.match(call.text, /join a call/);
  assert.equal(none.status, 400);
  assert.match(none.text, /messages of a WebSocket/);
  assert.equal(provider.upgrades.length, 0);
});

Deno.test("a provider without the Realtime API is 404", async () => {
  await using provider = startProvider();
  await using gateway = await start(provider.host, {
    provider: "Anthropic",
    plainText: true,
  });
  const { status } = await rejection(gateway.origin, "/v1/realtime?model=m");
  assert.equal(status, 404);
  assert.equal(provider.upgrades.length, 0);
});

Deno.test("a session keeps the model that the backend has chosen", async () => {
  await using provider = startProvider();
  await using gateway = await start(provider.host);
  const client = await openRealtime(gateway.origin);
  client.socket.send(
    JSON.stringify({ type: "session.update", session: { model: "other" } }),
  );
  const { code, reason } = await client.closed;
  assert.deepEqual([code, reason], [1008, "the session changed its model"]);
});
