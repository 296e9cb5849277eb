import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  GET as GET_FIELDS,
  headers,
  Http2Client,
} from "../../harness/clients/http2_client.ts";
import {
  connectRaw,
  exchangeRaw,
  statusOf,
} from "../../harness/clients/raw_exchange.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

function routeTo({ port }: RawUpstream, settings = {}) {
  return {
    config: {
      config: settings,
      routes: [{ name: "all", backends: [{ host: `127.0.0.1:${port}` }] }],
    },
  };
}

/** An upstream that answers `/slow` once it is let, and everything else at once. */
function slowUpstream() {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const upstream = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      const isSlow = request.startsWith("GET /slow ");
      if (isSlow) asked.resolve();
      if (isSlow) await Promise.race([go.promise, connection.closedByPeer()]);
      await connection.send(answer("done"));
    }
  });
  return { upstream, asked: asked.promise, go: () => go.resolve() };
}

async function connectIdle(port: number): Promise<RawConnection> {
  const client = await connectRaw(port);
  await client.send(GET);
  assert.equal(statusOf(await client.request()), 200);
  return client;
}

async function beginSlow(port: number): Promise<RawConnection> {
  const client = await connectRaw(port);
  await client.send(GET.replace("/", "/slow"));
  return client;
}

const waysToStop = [
  {
    name: "on SIGTERM",
    stop: (gateway: GatewayProcess) => gateway.signal("SIGTERM"),
  },
  {
    name: "on SIGINT",
    stop: (gateway: GatewayProcess) => gateway.signal("SIGINT"),
  },
  {
    name: "when the admin interface is told to quit",
    async stop({ admin }: GatewayProcess) {
      const response = await fetch(`${admin}/quitquitquit`, { method: "POST" });
      assert.equal(await response.text(), "shutdown now\n");
    },
  },
];

for (const { name, stop } of waysToStop) {
  Deno.test(`gateway drains ${name}: finishes requests, accepts no more, exits with 0`, async () => {
    const { upstream, asked, go } = slowUpstream();
    await using _ = upstream;
    await using gateway = await GatewayProcess.start(
      routeTo(upstream, { drainTimeout: "30s" }),
    );
    const ready = `${gateway.stats}/healthz/ready`;
    const before = await fetch(ready);
    const idle = await connectIdle(gateway.port);
    const busy = await beginSlow(gateway.port);
    await asked;

    await stop(gateway);
    await gateway.log.next(/Draining/);
    await idle.closedByPeer();
    const during = await fetch(ready);

    assert.deepEqual([before.status, during.status], [200, 503]);
    await before.body?.cancel();
    await during.body?.cancel();
    await assert.rejects(
      connectRaw(gateway.port),
      Deno.errors.ConnectionRefused,
    );
    go();
    const response = await busy.request();
    busy.close();
    assert.match(response, /\r\n\r\ndone$/);
    assert.match(response, /\r\nconnection: close\r\n/i);
    assert.equal(await gateway.exitCode(), 0);
    await gateway.log.next(/\tgateway\tStopped drained=1 cut=0 duration=/);
    idle.close();
  });
}

Deno.test("gateway cuts requests that take longer than drainTimeout and exits with 0", async () => {
  const { upstream, asked } = slowUpstream();
  await using _ = upstream;
  await using gateway = await GatewayProcess.start(
    routeTo(upstream, { drainTimeout: "100ms" }),
  );
  const busy = await beginSlow(gateway.port);
  await asked;

  gateway.signal("SIGTERM");
  await busy.closedByPeer();

  assert.equal(await gateway.exitCode(), 0);
  assert.match(
    await gateway.accessLog.next(/http\.path=\/slow/),
    /\twarn\trequest .* http\.status=503 .* reason=drain_timeout error="Cut off: still running 100 ms after/,
  );
  assert.match(
    gateway.log.all.at(-1) ?? "",
    /\tgateway\tStopped drained=0 cut=1 duration=\d+ms$/,
  );
  busy.close();
});

Deno.test("gateway cuts a stream of events at the end of drainTimeout", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    await connection.closedByPeer();
  });
  await using gateway = await GatewayProcess.start(
    routeTo(upstream, { drainTimeout: "100ms" }),
  );
  const response = await fetch(gateway.origin);
  const reader = response.body?.getReader();
  const first = await reader?.read();

  gateway.signal("SIGTERM");

  assert.equal(new TextDecoder().decode(first?.value), "data: 1\n\n");
  await assert.rejects(reader?.read() ?? Promise.resolve());
  assert.equal(await gateway.exitCode(), 0);
  await gateway.accessLog.next(/ http\.status=200 .* reason=drain_timeout /);
});

Deno.test("gateway exits at once on a second signal", async () => {
  const { upstream, asked } = slowUpstream();
  await using _ = upstream;
  await using gateway = await GatewayProcess.start(
    routeTo(upstream, { drainTimeout: "1h" }),
  );
  const busy = await beginSlow(gateway.port);
  await asked;

  gateway.signal("SIGINT");
  await gateway.log.next(/Draining/);
  gateway.signal("SIGTERM");

  assert.equal(await gateway.exitCode(), 143);
  await busy.closedByPeer();
  busy.close();
});

Deno.test("gateway with lameDuck fails readiness, goes on accepting, and ends each connection", async () => {
  const { upstream } = slowUpstream();
  await using _ = upstream;
  await using gateway = await GatewayProcess.start(
    routeTo(upstream, { lameDuck: "1h" }),
  );
  const idle = await connectIdle(gateway.port);
  using http2 = await Http2Client.connect(gateway.port);
  await http2.send(headers(1, GET_FIELDS));
  await http2.fields(1);

  gateway.signal("SIGTERM");
  await gateway.log.next(/Leaving: not ready, still accepting duration=1h/);
  const ready = await fetch(`${gateway.stats}/healthz/ready`);
  const response = await exchangeRaw(gateway.port, GET);
  await idle.send(GET);
  const last = await idle.request();
  await idle.closedByPeer();

  await ready.body?.cancel();
  idle.close();
  assert.equal(ready.status, 503);
  for (const each of [response, last]) {
    assert.equal(statusOf(each), 200);
    assert.match(each, /\r\nconnection: close\r\n/i);
  }
  assert.equal(await http2.verdict(), "goaway 0");
  gateway.signal("SIGTERM");
  assert.equal(await gateway.exitCode(), 143);
});

Deno.test("gateway drains after lameDuck", async () => {
  const { upstream } = slowUpstream();
  await using _ = upstream;
  await using gateway = await GatewayProcess.start(
    routeTo(upstream, { lameDuck: "100ms" }),
  );

  gateway.signal("SIGTERM");

  await gateway.log.next(/Leaving/);
  await gateway.log.next(/Draining/);
  assert.equal(await gateway.exitCode(), 0);
});
