import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { textBody } from "../../../../src/http/body.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  PushBody,
  readText,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

Deno.test("Upstream respects the connection limit and serves every request", async () => {
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      await connection.send(answer(/^GET (\S+)/.exec(request)?.[1]));
    }
  });
  using upstream = upstreamAt(server.port, { maxConnections: 3 });

  const targets = Array.from({ length: 100 }, (_, i) => `/${i}`);
  const answers = await Promise.all(
    targets.map((target) => exchange(upstream, { target })),
  );

  assert.deepEqual(answers, targets.map((target) => `200 ${target}`));
  assert.equal(server.accepted, 3);
  assert.deepEqual(upstream.stats, {
    idle: 3,
    active: 0,
    pending: 0,
    connects: 3,
    reuses: 97,
  });
});

Deno.test("Upstream rejects a request when too many are waiting", async () => {
  await using server = new RawUpstream(stall);
  const limits = { maxConnections: 1, maxPendingRequests: 1 };
  using upstream = upstreamAt(server.port, limits);
  const cancellation = new Cancellation();
  const first = failureOf(send(upstream, {}, undefined, cancellation));
  const second = failureOf(send(upstream, {}, undefined, cancellation));

  const third = await failureOf(exchange(upstream));

  assert.equal(third.code, "upstream_overloaded");
  assert.match(third.message, /1 requests are already waiting/);
  cancellation.cancel("done");
  await Promise.all([first, second]);
});

Deno.test("Upstream opens connections but queues nothing when waiting is disabled", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer());
    await connection.closedByPeer();
  });
  const limits = { maxConnections: 2, maxPendingRequests: 0 };
  using upstream = upstreamAt(server.port, limits);

  const results = await Promise.allSettled(
    [1, 2, 3].map(() => exchange(upstream)),
  );

  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected"],
  );
});

Deno.test("Upstream fails a request that waited too long for a connection", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(stall);
  const limits = { maxConnections: 1, connectTimeoutMs: 5000 };
  using upstream = upstreamAt(server.port, limits, clock);
  const cancellation = new Cancellation();
  const first = failureOf(send(upstream, {}, undefined, cancellation));
  while (upstream.stats.active === 0) await turn();
  const second = failureOf(exchange(upstream));
  while (upstream.stats.pending === 0) await turn();

  clock.advance(5000);

  assert.equal((await second).code, "upstream_overloaded");
  cancellation.cancel("done");
  await first;
});

Deno.test("Upstream assigns a freed connection to the longest waiting request", async () => {
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      order.push(/^GET (\S+)/.exec(await connection.request())?.[1] ?? "");
      await gate.promise;
      await connection.send(answer());
    }
  });
  using upstream = upstreamAt(server.port, { maxConnections: 1 });
  const targets = ["/1", "/2", "/3", "/4"];
  const all = targets.map((target) => exchange(upstream, { target }));

  gate.resolve();
  await Promise.all(all);

  assert.deepEqual(order, targets);
});

Deno.test("Upstream reports the address that refused the connection", async () => {
  const port = abandonedPort();
  using upstream = upstreamAt(port);

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_connect_failed");
  assert.equal(failure.message, `Cannot connect to "127.0.0.1:${port}"`);
  assert.ok(failure.cause instanceof Deno.errors.ConnectionRefused);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream reports an unknown host", async () => {
  using upstream = upstreamAt(80, { host: "nowhere.invalid" });

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_connect_failed");
  assert.match(failure.message, /"nowhere\.invalid:80"/);
});

Deno.test("Upstream fails a request without a response in time", async () => {
  const clock = new FakeClock();
  const seen = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    // A head that arrives too slowly is no response.
    await connection.send("HTTP/1.1 200 OK\r\n", "X-A: 1\r\n");
    seen.resolve();
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, { firstByteTimeoutMs: 300 }, clock);
  const failure = failureOf(exchange(upstream));
  await seen.promise;

  clock.advance(299);
  assert.equal(upstream.stats.active, 1);
  clock.advance(1);

  assert.equal((await failure).code, "upstream_timeout");
  assert.match((await failure).message, /No response from "127/);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream does not count a slow client as an upstream time-out", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer());
  });
  const limits = { firstByteTimeoutMs: 300, idleTimeoutMs: 300 };
  using upstream = upstreamAt(server.port, limits, clock);
  const body = new PushBody(6);
  const result = exchange(upstream, { method: "POST" }, body);
  body.push("abc");
  while (body.reads < 2) await turn();

  clock.advance(60_000);
  body.push("def");
  body.end();

  assert.equal(await result, "200 ok");
});

Deno.test("Upstream fails a body that stalls", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, { idleTimeoutMs: 300 }, clock);
  const { body } = await send(upstream);
  await body?.read();

  clock.advance(60_000);
  const failure = failureOf(Promise.resolve(body?.read()));
  await turn();
  clock.advance(300);

  assert.equal((await failure).code, "upstream_timeout");
  assert.match((await failure).message, /No rest of the response/);
});

Deno.test("Upstream fails an upload that the peer does not read", async () => {
  const clock = new FakeClock();
  const begun = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.take(1);
    begun.resolve();
    await blockUntilClosed(connection);
  });
  using upstream = upstreamAt(server.port, { idleTimeoutMs: 300 }, clock);
  const body = textBody("x".repeat(64 * 1024 * 1024));
  const failure = failureOf(exchange(upstream, { method: "POST" }, body));
  await begun.promise;

  clock.advance(300);

  assert.equal((await failure).code, "upstream_timeout");
});

Deno.test("Upstream leaves no timers", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer());
    }
  });
  const limits = { firstByteTimeoutMs: 300, idleTimeoutMs: 300 };
  const upstream = upstreamAt(server.port, limits, clock);

  for (let i = 0; i < 10; i++) await exchange(upstream);
  assert.equal(clock.pending, 1);
  upstream.close();

  assert.equal(clock.pending, 0);
});

const phases = [
  { name: "connected", pieces: [] },
  { name: "inside the head", pieces: ["HTTP/1.1 200 OK\r\nX-"] },
  { name: "after 100", pieces: ["HTTP/1.1 100 Continue\r\n\r\n"] },
];

for (const { name, pieces } of phases) {
  Deno.test(`Upstream closes the connection when the client disconnects: ${name}`, async () => {
    const ready = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    await using server = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(...pieces);
      ready.resolve();
      await connection.closedByPeer();
      closed.resolve();
    });
    using upstream = upstreamAt(server.port);
    const cancellation = new Cancellation();
    const failure = failureOf(send(upstream, {}, undefined, cancellation));
    await ready.promise;

    cancellation.cancel("gone");

    assert.equal((await failure).code, "client_closed");
    assert.equal(upstream.stats.active, 0);
    await closed.promise;
  });
}

Deno.test("Upstream closes the connection when the client disconnects: streaming", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\n\r\nabc");
    await connection.closedByPeer();
    closed.resolve();
  });
  using upstream = upstreamAt(server.port);
  const cancellation = new Cancellation();
  const { body } = await send(upstream, {}, undefined, cancellation);
  await body?.read();
  const failure = failureOf(Promise.resolve(body?.read()));

  cancellation.cancel("gone");

  assert.equal((await failure).code, "client_closed");
  await closed.promise;
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream closes the connection when the client disconnects: sending", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.closedByPeer();
    closed.resolve();
  });
  using upstream = upstreamAt(server.port);
  const cancellation = new Cancellation();
  const body = new PushBody();
  body.push("abc");
  const failure = failureOf(
    send(upstream, { method: "POST" }, body, cancellation),
  );
  while (upstream.stats.active === 0) await turn();

  cancellation.cancel("gone");

  assert.equal((await failure).code, "client_closed");
  await closed.promise;
  assert.notEqual(body.cancelledWith, undefined);
});

Deno.test("Upstream drops a queued request whose client disconnects", async () => {
  await using server = new RawUpstream(stall);
  using upstream = upstreamAt(server.port, { maxConnections: 1 });
  const first = new Cancellation();
  const busy = failureOf(send(upstream, {}, undefined, first));
  const second = new Cancellation();
  const queued = failureOf(send(upstream, {}, undefined, second));

  second.cancel("gone");

  assert.equal((await queued).code, "client_closed");
  assert.equal(upstream.stats.pending <= 1, true);
  first.cancel("gone");
  await busy;
});

Deno.test("Upstream sends nothing for a disconnected client", async () => {
  await using server = new RawUpstream(stall);
  using upstream = upstreamAt(server.port);
  const cancellation = new Cancellation();
  cancellation.cancel("gone");

  const failure = await failureOf(send(upstream, {}, undefined, cancellation));

  assert.equal(failure.code, "client_closed");
  assert.equal(server.accepted, 0);
});

Deno.test("Upstream keeps a connection when an earlier client disconnects", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer("1"));
    await connection.request();
    await gate.promise;
    await connection.send(answer("2"));
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);
  const early = new Cancellation();
  const response = await send(upstream, {}, undefined, early);
  await readText(response.body);
  const second = exchange(upstream);

  early.cancel("gone");
  gate.resolve();

  assert.equal(await second, "200 2");
});

function stall(connection: RawConnection): Promise<void> {
  return connection.closedByPeer();
}

/** Reads nothing, so that the sender blocks, until the upstream closes. */
async function blockUntilClosed(connection: RawConnection): Promise<void> {
  while (!connection.isClosed) await turn();
}

/** Returns a port without a listener. */
function abandonedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits for a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
