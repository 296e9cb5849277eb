/** All kinds of traffic with several workers. The kernel chooses the worker of each connection. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { FRAME_TYPES } from "../../../src/http/http2/frames/http2_protocol.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  data,
  headers,
  Http2Client,
} from "../../harness/clients/http2_client.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const CONNECTIONS = 16;
const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

function get(path: string) {
  return [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", path],
    [":authority", "localhost"],
  ] as const;
}

const openWebSocket = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "https"],
  [":path", "/chat"],
  [":authority", "localhost"],
  ["sec-websocket-version", "13"],
] as const;

function startTls(port: number) {
  return startTestGateway(
    {
      config: { workers: 2 },
      routes: [{ backends: [{ host: `127.0.0.1:${port}` }] }],
    },
    { protocol: "HTTPS", tls: own },
  );
}

/** Returns how many workers have connections. */
async function workersInUse(
  { gateway }: Awaited<ReturnType<typeof startTls>>,
): Promise<number> {
  const { listeners } = await gateway.dataPlane.call("tasks", 1000);
  const connections = listeners.flatMap(({ connections }) => connections);
  return new Set(connections.map(({ worker }) => worker)).size;
}

/** Connects many clients of HTTP/2 over TLS. */
async function connectMany(port: number, open: DisposableStack) {
  const clients = await Promise.all(
    Array.from(
      { length: CONNECTIONS },
      () => Http2Client.connect(port, authority.cert),
    ),
  );
  for (const client of clients) open.use(client);
  return clients;
}

Deno.test("every worker serves WebSockets and requests over HTTP/2 and TLS", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      if (request.headers.get("upgrade") !== "websocket") {
        return new Response("plain");
      }
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => socket.send(`${data}!`);
      return response;
    },
  );
  await using gateway = await startTls(server.addr.port);
  using open = new DisposableStack();
  const clients = await connectMany(gateway.port, open);

  const received = await Promise.all(clients.map(async (client) => {
    await client.send(headers(1, openWebSocket, false));
    await client.fields(1);
    // A masked text frame with "hi", whose mask is zero.
    await client.send(data(1, "\x81\x82\0\0\0\0hi", false));
    const message = await client.receive(FRAME_TYPES.data, 1);
    await client.send(headers(3, get("/")));
    const plain = await client.receive(FRAME_TYPES.data, 3);
    return [message, plain].map(({ payload }) =>
      Buffer.from(payload).toString("latin1")
    );
  }));

  for (const texts of received) {
    assert.deepEqual(texts, ["\x81\x03hi!", "plain"]);
  }
  assert.equal(await workersInUse(gateway), 2);
});

Deno.test("every worker relays events one by one", async () => {
  const seen = new Map<string, PromiseWithResolvers<void>>();
  await using upstream = new RawUpstream(async (connection) => {
    const [, id = ""] = /^GET \/(\d+)/.exec(await connection.head()) ?? [];
    await connection.send(
      // Each connection has one script, thus one request.
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
    );
    await seen.get(id)?.promise;
    await connection.send("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
    await connection.closedByPeer();
  });
  await using gateway = await startTls(upstream.port);
  using open = new DisposableStack();
  const clients = await connectMany(gateway.port, open);

  const streams = await Promise.all(clients.map(async (client, id) => {
    const first = Promise.withResolvers<void>();
    seen.set(String(id), first);
    await client.send(headers(1, get(`/${id}`)));
    const events: string[] = [];
    for (let event = 0; event < 2; event++) {
      const { payload } = await client.receive(FRAME_TYPES.data, 1);
      events.push(Buffer.from(payload).toString());
      first.resolve();
    }
    return events;
  }));

  for (const events of streams) {
    assert.deepEqual(events, ["data: 1\n\n", "data: 2\n\n"]);
  }
  assert.equal(await workersInUse(gateway), 2);
});

Deno.test("every worker finishes the streams of HTTP/2 when the gateway stops", async () => {
  const go = Promise.withResolvers<void>();
  const all = Promise.withResolvers<void>();
  let waiting = 0;
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    if (++waiting === CONNECTIONS) all.resolve();
    await go.promise;
    await connection.send(answer("done"));
    await connection.closedByPeer();
  });
  await using gateway = await startTls(upstream.port);
  using open = new DisposableStack();
  const clients = await connectMany(gateway.port, open);
  for (const client of clients) await client.send(headers(1, get("/")));
  await all.promise;
  assert.equal(await workersInUse(gateway), 2);

  const stopped = gateway.gateway.stop(30_000);
  for (const client of clients) await client.receive(FRAME_TYPES.goAway, 0);
  go.resolve();

  for (const client of clients) {
    const { payload } = await client.receive(FRAME_TYPES.data, 1);
    assert.equal(Buffer.from(payload).toString(), "done");
  }
  await stopped;
  const log = gateway.log.join("");
  assert.match(log, new RegExp(`Stopped drained=${CONNECTIONS} cut=0`));
});

Deno.test("the access log has the requests of each connection in order, and no line is lost or mixed", async () => {
  const each = 50;
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{ policies: { directResponse: { status: 200 } } }],
    },
  });
  await Promise.all(Array.from({ length: CONNECTIONS }, async (_, at) => {
    const client = await connectRaw(gateway.port);
    for (let request = 0; request < each; request++) {
      await client.send(`GET /${at}/${request} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal(statusOf(await client.request()), 200);
    }
    client.close();
  }));
  gateway.signal("SIGTERM");
  await gateway.exitCode();

  const requests = new Map<string, number[]>();
  for (const line of gateway.accessLog.all) {
    const [, at = "", request] =
      /^\S+\tinfo\trequest .* http\.path=\/(\d+)\/(\d+) .*duration=[\d.]+ms$/
        .exec(line) ?? [];
    if (request === undefined) throw new Error(line);
    requests.getOrInsertComputed(at, () => []).push(Number(request));
  }
  const inOrder = Array.from({ length: each }, (_, request) => request);
  assert.equal(requests.size, CONNECTIONS);
  for (const list of requests.values()) assert.deepEqual(list, inOrder);
});
