/** Budgets that hold what the next response on a WebSocket may use. */
import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import { budgetsOf } from "../../harness/gateway/limited_gateway.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { openRealtime } from "../../harness/clients/realtime_client.ts";
import {
  realtimeResponse,
  realtimeUsage,
  startRealtimeProvider,
} from "../../harness/llm/realtime_provider.ts";

const PATH = "/v1/realtime?model=gpt-realtime";
const CREATE = JSON.stringify({ type: "response.create" });
const budget = { tokens: 10_000, unit: "Months", reserve: true };

function inStore() {
  const entries = [{ key: "all", value: "'x'" }];
  const descriptors = [{ ...budget, entries }];
  const global = { domain: "d", timeout: "30s", descriptors };
  return { kv: { path: ":memory:" }, rateLimit: { global } };
}

const variants = {
  "one thread": () => ({ rateLimit: { local: [budget] } }),
  "two workers": () => ({ workers: 2, rateLimit: { local: [budget] } }),
  "Deno KV": inStore,
  "Deno KV and two workers": () => ({ workers: 2, ...inStore() }),
} as const;

function start(
  host: string,
  { rateLimit, ...config }: ReturnType<typeof variants[keyof typeof variants]>,
) {
  return startTestGateway({
    config,
    routes: [{
      name: "voice",
      policies: { rateLimit },
      backends: [{ host }],
    }],
  });
}

async function remaining(origin: string): Promise<number> {
  const { headers } = await fetchRaw(`${origin}/probe`);
  return Number(headers["x-ratelimit-remaining"]);
}

for (const [name, create] of Object.entries(variants)) {
  Deno.test(`a WebSocket holds its next response, with the conversation: ${name}`, async () => {
    await using provider = startRealtimeProvider(() =>
      realtimeResponse(realtimeUsage(90, 10))
    );
    await using gateway = await start(provider.host, create());
    const { origin } = gateway;
    const left = (tokens: number) =>
      until(async () => await remaining(origin) === tokens);

    const one = await openRealtime(origin);
    await left(10_000 - 4096);
    const two = await openRealtime(origin);
    await left(10_000 - 2 * 4096);
    const { status, bytes } = await fetchRaw(`${origin}${PATH}`, {
      headers: { connection: "upgrade", upgrade: "websocket" },
    });
    assert.equal(status, 429);
    assert.match(
      new TextDecoder().decode(bytes),
      /the limit has 1808 left, and the request may use 4096/,
    );

    one.socket.send(CREATE);
    await one.received("response.done");
    // 100 are used, and the next response reads them again.
    await left(10_000 - 100 - 2 * 4096 - 100);
    one.socket.close();
    await left(10_000 - 100 - 4096);
    two.socket.close();
    await left(10_000 - 100);
    const [shown] = await budgetsOf(gateway);
    assert.equal(shown?.["held"], 0);
  });

  Deno.test(`a WebSocket without room for its next response is closed: ${name}`, async () => {
    await using provider = startRealtimeProvider(() =>
      realtimeResponse(realtimeUsage(2000, 1000))
    );
    await using gateway = await start(provider.host, create());
    const client = await openRealtime(gateway.origin);
    client.socket.send(CREATE);
    const { code, reason } = await client.closed;

    // 7,000 are left, and the next response may use 3,000 of input and 4,096 of output.
    assert.deepEqual([code, reason], [1008, "rate limit exceeded"]);
    assert.equal(client.events.at(-1)?.type, "response.done");
    await until(async () => await remaining(gateway.origin) === 7000);
  });
}

Deno.test("a reservation of money has the price of the model that the query names", async () => {
  await using provider = startRealtimeProvider(() =>
    realtimeResponse(realtimeUsage(0, 1000))
  );
  const prices = {
    models: [{ model: "gpt-realtime", input: 10, output: 100 }],
  };
  await using gateway = await startTestGateway({
    config: { prices },
    routes: [{
      name: "voice",
      policies: {
        rateLimit: {
          local: [{ cost: { usd: 1, unit: "Months" }, reserve: true }],
        },
      },
      backends: [{ host: provider.host }],
    }],
  });
  const held = async () => (await budgetsOf(gateway))[0]?.["held"];
  const client = await openRealtime(gateway.origin);
  assert.equal(await held(), 0.4096);
  client.socket.send(CREATE);
  await client.received("response.done");
  await until(async () => await held() === 0.4196);
  client.socket.close();
  await until(async () => await held() === 0);
});

Deno.test("a WebSocket that the provider rejects, and one that breaks off, leave nothing held", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    if ((await connection.request()).includes("/rejected/")) {
      const head = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
      return await connection.send(head);
    }
    await connection.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
        "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
    );
    connection.close();
  });
  const host = `127.0.0.1:${upstream.port}`;
  await using gateway = await start(host, variants["one thread"]());
  const open = async (path: string) => {
    const connection = await connectRaw(gateway.port);
    await connection.send(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
        "Upgrade: websocket\r\n\r\n",
    );
    const status = statusOf(await connection.request());
    connection.close();
    return status;
  };
  assert.equal(await open(`/rejected${PATH}`), 403);
  assert.equal(await open(PATH), 101);
  await until(async () => (await budgetsOf(gateway))[0]?.["held"] === 0);
});
