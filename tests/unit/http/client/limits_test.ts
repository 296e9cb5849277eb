import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { textBody } from "../../../../src/http/body.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../../harness/raw_upstream.ts";
import {
  exchange,
  failureOf,
  PushBody,
  readText,
  send,
  upstreamAt,
} from "../../../harness/upstream_requests.ts";

Deno.test("Upstream opens no more connections than allowed, and nobody is lost", async () => {
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

Deno.test("Upstream refuses a request when too many wait", async () => {
  await using server = new RawUpstream(stall);
  const limits = { maxConnections: 1, maxPendingRequests: 1 };
  using upstream = upstreamAt(server.port, limits);
  const cancellation = new Cancellation();
  const first = failureOf(send(upstream, {}, undefined, cancellation));
  const second = failureOf(send(upstream, {}, undefined, cancellation));

  const third = await failureOf(exchange(upstream));

  assert.equal(third.code, "upstream_overloaded");
  assert.match(third.message, /1 requests wait already/);
  cancellation.cancel("done");
  await Promise.all([first, second]);
});

Deno.test("Upstream lets nobody wait when it must not, but opens what it may", async () => {
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

Deno.test("Upstream gives a freed connection to whoever waits longest", async () => {
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

Deno.test("Upstream says who refused the connection", async () => {
  const port = abandonedPort();
  using upstream = upstreamAt(port);

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_connect_failed");
  assert.equal(failure.message, `Cannot connect to "127.0.0.1:${port}"`);
  assert.ok(failure.cause instanceof Deno.errors.ConnectionRefused);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream says which host is unknown", async () => {
  using upstream = upstreamAt(80, { host: "nowhere.invalid" });

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_connect_failed");
  assert.match(failure.message, /"nowhere\.invalid:80"/);
});

Deno.test("Upstream fails a request that is not answered in time", async () => {
  const clock = new FakeClock();
  const seen = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    // A head that drips in is no answer.
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

Deno.test("Upstream does not blame the other side for a slow client", async () => {
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

Deno.test("Upstream fails a body that stops coming", async () => {
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

Deno.test("Upstream fails an upload that the other side does not take", async () => {
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

Deno.test("Upstream keeps no timer behind", async () => {
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
  Deno.test(`Upstream closes the connection when the client leaves: ${name}`, async () => {
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

Deno.test("Upstream closes the connection when the client leaves: streaming", async () => {
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

Deno.test("Upstream closes the connection when the client leaves: sending", async () => {
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

Deno.test("Upstream forgets a request whose client leaves the queue", async () => {
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

Deno.test("Upstream sends nothing for a client that left before", async () => {
  await using server = new RawUpstream(stall);
  using upstream = upstreamAt(server.port);
  const cancellation = new Cancellation();
  cancellation.cancel("gone");

  const failure = await failureOf(send(upstream, {}, undefined, cancellation));

  assert.equal(failure.code, "client_closed");
  assert.equal(server.accepted, 0);
});

Deno.test("Upstream keeps a connection whose earlier client leaves", async () => {
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

/** Reads nothing, so that the sender cannot go on, and ends with the upstream. */
async function blockUntilClosed(connection: RawConnection): Promise<void> {
  while (!connection.isClosed) await turn();
}

/** A port at which nobody listens any more. */
function abandonedPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Lets the event loop go round. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
