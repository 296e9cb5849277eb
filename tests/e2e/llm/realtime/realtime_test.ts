import assert from "node:assert/strict";
import { usageRows } from "../../../harness/gateway/usage_rows.ts";
import { Buffer } from "node:buffer";
import { FRAME_TYPES } from "../../../../src/http/http2/frames/http2_protocol.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  data,
  headers,
  Http2Client,
} from "../../../harness/clients/http2_client.ts";
import { openRealtime } from "../../../harness/clients/realtime_client.ts";
import { RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  realtimeResponse,
  realtimeUsage,
  startRealtimeProvider,
} from "../../../harness/llm/realtime_provider.ts";

const PATH = "/v1/realtime?model=gpt-realtime";
const CREATE = JSON.stringify({ type: "response.create" });

function answer() {
  return realtimeResponse(realtimeUsage(90, 10));
}

interface Options {
  readonly tokens?: number;
  readonly rateLimit?: Readonly<Record<string, unknown>>;
  readonly policies?: Readonly<Record<string, unknown>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly listener?: Readonly<Record<string, unknown>>;
}

function startGateway(
  host: string,
  { tokens = 10_000, rateLimit, policies, config, listener }: Options = {},
) {
  const local = tokens === 0 ? {} : { local: [{ tokens, unit: "Hours" }] };
  return startTestGateway({
    ...config,
    routes: [{
      name: "voice",
      backends: [{ host }],
      policies: { rateLimit: { ...local, ...rateLimit }, ...policies },
    }],
  }, listener);
}

async function remaining(origin: string): Promise<number> {
  const { headers } = await fetchRaw(`${origin}/probe`);
  return Number(headers["x-ratelimit-remaining"]);
}

async function until(condition: () => boolean | Promise<boolean>) {
  const giveUpAt = Date.now() + 120_000;
  while (!await condition()) {
    assert(Date.now() < giveUpAt, "the condition was never met");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("responses on a WebSocket are charged while it is open, and the next one closes it when the budget is used up", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host, { tokens: 150 });
  const client = await openRealtime(gateway.origin);
  await client.received("session.created");
  client.socket.send(CREATE);
  await client.received("response.done");

  assert.equal(await remaining(gateway.origin), 50);
  const [row] = await usageRows(gateway.gateway.dataPlane);
  assert.deepEqual(
    [row?.model, row?.route, row?.inputTokens, row?.outputTokens],
    ["gpt-realtime", "voice", 90, 10],
  );

  client.socket.send(CREATE);
  await client.received("response.done", 2);
  const { code, reason } = await client.closed;
  await provider.closed(1);

  assert.deepEqual([code, reason], [1008, "rate limit exceeded"]);
  assert.equal(await remaining(gateway.origin), 0);
  const refused = await fetchRaw(`${gateway.origin}${PATH}`, {
    headers: { connection: "upgrade", upgrade: "websocket" },
  });
  assert.equal(refused.status, 429);
  assert.equal(provider.upgrades.length, 1);
  assert.equal(provider.upgrades[0]?.get("sec-websocket-extensions"), null);
  await until(() => gateway.accessLog.join("").includes("status=101"));
  const log = gateway.accessLog.join("");
  assert.match(log, / gen_ai\.usage\.input_tokens=180 /);
  assert.match(log, / gen_ai\.usage\.output_tokens=20 /);
  assert.match(log, / reason=rate_limit error="Closed the WebSocket: /);
  const rows = await usageRows(gateway.gateway.dataPlane);
  assert.deepEqual(
    rows.filter(({ model }) => model !== "").map((each) => [
      each.requests,
      each.inputTokens,
      each.outputTokens,
    ]),
    [[1, 180, 20]],
  );
});

Deno.test("a shared limit that another process uses up closes the WebSocket too", async () => {
  await using provider = startRealtimeProvider(answer);
  const path = await Deno.makeTempFile({ suffix: ".db" });
  await using gateway = await startGateway(provider.host, {
    config: { config: { kv: { path } } },
    tokens: 0,
    rateLimit: {
      global: {
        domain: "llm",
        descriptors: [{
          tokens: 90,
          unit: "Hours",
          entries: [{ key: "all", value: "'x'" }],
        }],
      },
    },
  });
  const client = await openRealtime(gateway.origin);
  client.socket.send(CREATE);

  assert.equal((await client.closed).code, 1008);
  assert.equal(client.events.at(-1)?.type, "response.done");
});

Deno.test("a client that is gone is charged what the provider reports afterwards", async () => {
  const { promise: proceed, resolve } = Promise.withResolvers<void>();
  await using provider = startRealtimeProvider(answer, { proceed });
  await using gateway = await startGateway(provider.host);
  const { hostname, port } = new URL(gateway.origin);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const text = `GET ${PATH} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  const masked = Buffer.concat([
    Uint8Array.of(0x81, 0x80 | CREATE.length, 0, 0, 0, 0),
    Buffer.from(CREATE),
  ]);
  await connection.write(Buffer.concat([Buffer.from(text), masked]));
  let received = "";
  const buffer = new Uint8Array(4096);
  while (!received.includes('"lo"')) {
    const count = await connection.read(buffer);
    received += Buffer.from(buffer.subarray(0, count ?? 0)).toString();
  }
  connection.close();
  resolve();

  await until(async () => await remaining(gateway.origin) === 9900);
  await until(() => gateway.accessLog.join("").includes("status=101"));
  assert.doesNotMatch(gateway.accessLog.join(""), /usage\.estimated/);
});

Deno.test("a client that closes the WebSocket in the middle of a response is charged an estimate", async () => {
  const { promise: proceed, resolve } = Promise.withResolvers<void>();
  await using held = startRealtimeProvider(answer, { proceed });
  await using gateway = await startGateway(held.host);
  const client = await openRealtime(gateway.origin);
  client.socket.send(CREATE);
  await client.received("response.output_text.delta", 2);
  client.socket.close();
  await held.closed(1);
  await client.closed;
  resolve();

  await until(() => gateway.accessLog.join("").includes("status=101"));
  assert.equal(await remaining(gateway.origin), 9998);
  assert.match(gateway.accessLog.join(""), / gen_ai\.usage\.estimated=true /);
});

Deno.test("responses on a WebSocket over HTTP/2 are charged, and it is closed when the budget is used up", async () => {
  const authority = await createAuthority();
  const own = await authority.issueServer(["localhost", "127.0.0.1"]);
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host, {
    tokens: 100,
    listener: { protocol: "HTTPS", tls: own },
  });
  using client = await Http2Client.connect(gateway.port, authority.cert);
  const fields = [
    [":method", "CONNECT"],
    [":protocol", "websocket"],
    [":scheme", "https"],
    [":path", PATH],
    [":authority", "localhost"],
    ["sec-websocket-version", "13"],
  ] as const;
  await client.send(headers(1, fields, false));
  await client.fields(1);
  const mask = `\x81${String.fromCharCode(0x80 | CREATE.length)}\0\0\0\0`;
  await client.send(data(1, `${mask}${CREATE}`, false));
  let received = "";
  while (!received.includes("rate limit exceeded")) {
    const { payload } = await client.receive(FRAME_TYPES.data, 1);
    received += Buffer.from(payload).toString("latin1");
  }

  assert(received.endsWith("\x88\x15\x03\xf0rate limit exceeded"));
  assert(received.includes('"response.done"'));
  await client.send(headers(3, fields, false));
  assert.deepEqual((await client.fields(3)).slice(0, 2), [":status", "429"]);
});

Deno.test("other WebSockets, and those without a budget, keep their extensions", async () => {
  await using provider = startRealtimeProvider(answer);
  const backends = [{ host: provider.host }];
  const rateLimit = { local: [{ tokens: 9, unit: "Hours" }] };
  await using gateway = await startTestGateway({
    routes: [
      { name: "free", matches: [{ path: { value: "/v1" } }], backends },
      { name: "chat", backends, policies: { rateLimit } },
    ],
  });
  const extensions = "permessage-deflate; client_max_window_bits";
  for (const path of [PATH, "/chat"]) {
    const connection = await Deno.connect({
      hostname: "127.0.0.1",
      port: gateway.port,
    });
    await connection.write(Buffer.from(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
        `Sec-WebSocket-Extensions: ${extensions}\r\n` +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ));
    await connection.read(new Uint8Array(4096));
    connection.close();
  }
  assert.deepEqual(
    provider.upgrades.map((each) => each.get("sec-websocket-extensions")),
    [extensions, extensions],
  );
});

Deno.test("a WebSocket without a budget is in log and usage", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startTestGateway({
    routes: [{ name: "free", backends: [{ host: provider.host }] }],
  });
  const client = await openRealtime(gateway.origin);
  client.socket.send(CREATE);
  await client.received("response.done");
  client.socket.close();
  await until(() => gateway.accessLog.join("").includes("status=101"));

  const [row] = await usageRows(gateway.gateway.dataPlane);
  assert.deepEqual([row?.requests, row?.inputTokens], [1, 90]);
});

Deno.test("a backend that compresses messages although nobody offered it gets no WebSocket through a budget", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
        "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n" +
        "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
    );
    await connection.closedByPeer();
  });
  await using gateway = await startGateway(`127.0.0.1:${upstream.port}`);
  const { status } = await fetchRaw(`${gateway.origin}${PATH}`, {
    headers: { connection: "upgrade", upgrade: "websocket" },
  });
  assert.equal(status, 502);
});

Deno.test("a backend that sends no frames ends the WebSocket of a budget", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
        "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n\xff\x01a",
    );
    await connection.closedByPeer();
  });
  await using gateway = await startGateway(`127.0.0.1:${upstream.port}`);
  using connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: gateway.port,
  });
  await connection.write(Buffer.from(
    `GET ${PATH} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n` +
      "Upgrade: websocket\r\n\r\n",
  ));
  const buffer = new Uint8Array(4096);
  while (await connection.read(buffer) !== null) { /* To the end. */ }
  await connection.closeWrite();
  await until(() => gateway.accessLog.join("").includes("status=101"));
  assert.match(gateway.accessLog.join(""), / gen_ai\.usage\.uncounted=true /);
});

Deno.test("rules about the model hold for WebSockets", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host, {
    policies: {
      authorization: {
        policy: { matchExpressions: ["llm.requestModel == 'gpt-realtime'"] },
      },
    },
  });
  const statusOf = async (path: string) =>
    (await fetchRaw(`${gateway.origin}${path}`, {
      headers: { connection: "upgrade", upgrade: "websocket" },
    })).status;

  assert.equal(await statusOf("/v1/realtime?model=gpt-5"), 403);
  assert.equal(await statusOf(`${PATH}&model=gpt-5`), 403);
  assert.equal(await statusOf("/v1/realtime"), 403);
  assert.equal(await statusOf("/v1/responses?model=gpt-realtime"), 403);
  const client = await openRealtime(gateway.origin);
  client.socket.close();
  await client.closed;
});

Deno.test("unknownUsage: Deny admits the WebSockets that are counted, and no others", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host, {
    rateLimit: { unknownUsage: "Deny" },
  });
  const client = await openRealtime(gateway.origin);
  client.socket.close();
  await client.closed;
  const other = await fetchRaw(`${gateway.origin}/v1/chat`, {
    headers: { connection: "upgrade", upgrade: "websocket" },
  });
  assert.equal(other.status, 400);
});

Deno.test("a WebSocket of another API on a route with a budget is open, and log and metrics report that nobody counts it", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host);
  const live = "/ws/google.ai.generativelanguage.v1beta" +
    ".GenerativeService.BidiGenerateContent?key=k";
  for (let count = 1; count <= 2; count++) {
    const client = await openRealtime(gateway.origin, live);
    client.socket.send(CREATE);
    await client.received("response.done");
    client.socket.close();
    await until(() =>
      gateway.accessLog.join("").split("status=101").length === count + 1
    );
  }

  assert.match(gateway.accessLog.join(""), / gen_ai\.usage\.uncounted=true /);
  const warnings = gateway.log.join("").split(
    "has no usage and is not charged",
  );
  assert.equal(warnings.length, 2);
  assert.match(
    await gateway.gateway.dataPlane.call("collectMetrics"),
    /^gateway_llm_answers_total\{.*usage_source="none"\} 2$/m,
  );
  assert.equal(await remaining(gateway.origin), 10_000);
});

const UPDATE = JSON.stringify({
  type: "session.update",
  session: { model: "gpt-5" },
});

Deno.test("a session that changes a model on which a rule depends is closed", async () => {
  await using provider = startRealtimeProvider(answer);
  const policy = { matchExpressions: ["llm.requestModel == 'gpt-realtime'"] };
  await using gateway = await startTestGateway({
    routes: [{
      name: "voice",
      backends: [{ host: provider.host }],
      policies: { authorization: { policy } },
    }],
  });
  const client = await openRealtime(gateway.origin);
  const same = { type: "session.update", session: { model: "gpt-realtime" } };
  client.socket.send(JSON.stringify(same));
  await client.received("session.updated");
  client.socket.send(UPDATE);
  const { code, reason } = await client.closed;
  await provider.closed(1);

  assert.deepEqual([code, reason], [1008, "the session changed its model"]);
  assert.equal(provider.upgrades[0]?.get("sec-websocket-extensions"), null);
  await until(() => gateway.accessLog.join("").includes("status=101"));
  assert.match(
    gateway.accessLog.join(""),
    / reason=authorization error="Closed the WebSocket: its session changed the model"/,
  );
});

Deno.test("a session changes its model where nothing depends on it, and is charged for the new one", async () => {
  await using provider = startRealtimeProvider(answer);
  await using gateway = await startGateway(provider.host);
  const client = await openRealtime(gateway.origin);
  client.socket.send(UPDATE);
  client.socket.send(CREATE);
  await client.received("response.done");
  client.socket.close();
  await client.closed;

  const rows = await usageRows(gateway.gateway.dataPlane);
  assert(rows.some(({ model }) => model === "gpt-5"), JSON.stringify(rows));
});
