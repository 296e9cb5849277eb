import assert from "node:assert/strict";
import { textBody } from "../../../../src/http/body.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  readText,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("Upstream sends requests in turn on one connection", async () => {
  await using server = new RawUpstream(respondToAll);
  using upstream = upstreamAt(server.port);

  for (let i = 0; i < 5; i++) assert.equal(await exchange(upstream), "200 ok");

  assert.equal(server.accepted, 1);
  assert.deepEqual(upstream.stats, {
    idle: 1,
    active: 0,
    pending: 0,
    connects: 1,
    reuses: 4,
  });
});

const oneAnswer = [
  { name: "sends Connection: close", text: answer("ok", "Connection: close") },
  {
    name: "sends close among other options",
    text: answer("ok", "Connection: x, Close"),
  },
  {
    name: "speaks HTTP/1.0",
    text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
  },
  { name: "is about to close", text: answer("ok", "Keep-Alive: timeout=1") },
  { name: "sends more than it declared", text: answer("ok") + "more" },
  { name: "responds twice", text: answer("ok") + answer("twice") },
];

for (const { name, text } of oneAnswer) {
  Deno.test(`Upstream uses a connection once when the upstream ${name}`, async () => {
    await using server = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(text);
      await connection.closedByPeer();
    });
    using upstream = upstreamAt(server.port);

    assert.equal(await exchange(upstream), "200 ok");
    assert.equal(await exchange(upstream), "200 ok");

    assert.equal(server.accepted, 2);
    assert.equal(upstream.stats.idle, 0);
  });
}

Deno.test("Upstream keeps an HTTP/1.0 connection with keep-alive", async () => {
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
      );
    }
  });
  using upstream = upstreamAt(server.port);

  await exchange(upstream);
  await exchange(upstream);

  assert.equal(server.accepted, 1);
});

Deno.test("Upstream reads a body until the connection closes", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\n\r\n", "a", "b");
  });
  using upstream = upstreamAt(server.port);

  assert.equal(await exchange(upstream), "200 ab");
  assert.equal(upstream.stats.idle, 0);
});

for (const status of [204, 304]) {
  Deno.test(`Upstream expects no body with ${status} and keeps the connection`, async () => {
    await using server = new RawUpstream(async (connection) => {
      for (;;) {
        await connection.request();
        await connection.send(
          `HTTP/1.1 ${status} X\r\nContent-Length: 9\r\n\r\n`,
        );
      }
    });
    using upstream = upstreamAt(server.port);

    assert.equal(await exchange(upstream), `${status} `);
    assert.equal(await exchange(upstream), `${status} `);
    assert.equal(server.accepted, 1);
  });
}

Deno.test("Upstream expects no body with HEAD and forwards the length", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);

  const response = await send(upstream, { method: "HEAD" });

  assert.equal(response.body, undefined);
  assert.equal(response.headers.get("content-length"), "1234");
  assert.equal(upstream.stats.idle, 1);
});

Deno.test("Upstream closes the connection of a cancelled body", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
    await connection.closedByPeer();
    closed.resolve();
  });
  using upstream = upstreamAt(server.port);

  const response = await send(upstream);
  response.body?.cancel("enough");

  await closed.promise;
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream drops a pooled connection that the peer closes", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer());
  });
  using upstream = upstreamAt(server.port);

  for (let i = 0; i < 3; i++) {
    await exchange(upstream, { method: "POST" }, textBody("precious"));
    while (upstream.stats.idle > 0) await turn();
  }

  assert.equal(server.accepted, 3);
});

Deno.test("Upstream drops a pooled connection with unexpected data", async () => {
  await using server = new RawUpstream(async (connection, index) => {
    await connection.request();
    if (index > 0) return await connection.send(answer("mine"));
    await connection.send(answer(), answer("not mine"));
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);

  await exchange(upstream);
  while (upstream.stats.idle > 0) await turn();

  assert.equal(await exchange(upstream), "200 mine");
});

for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
  Deno.test(`Upstream repeats ${method} when a pooled connection ends without a response`, async () => {
    await using server = new RawUpstream(endsOnSecondRequest);
    using upstream = upstreamAt(server.port);

    await exchange(upstream);
    const second = await exchange(upstream, { method });

    assert.match(second, /^200 /);
    assert.equal(server.accepted, 2);
  });
}

const notRepeated = [
  { name: "POST", request: { method: "POST" }, body: undefined },
  {
    name: "POST with a body",
    request: { method: "POST" },
    body: textBody("x"),
  },
  { name: "PATCH", request: { method: "PATCH" }, body: undefined },
  {
    name: "PUT whose body was sent",
    request: { method: "PUT" },
    body: textBody("x"),
  },
];

for (const { name, request, body } of notRepeated) {
  Deno.test(`Upstream does not repeat ${name} when a pooled connection ends without a response`, async () => {
    await using server = new RawUpstream(endsOnSecondRequest);
    using upstream = upstreamAt(server.port);

    await exchange(upstream);
    const failure = await failureOf(exchange(upstream, request, body));

    assert.equal(failure.code, "upstream_closed");
    assert.equal(server.accepted, 1);
  });
}

Deno.test("Upstream repeats a request only once", async () => {
  await using server = new RawUpstream(async (connection, index) => {
    await connection.request();
    if (index > 0) return;
    await connection.send(answer());
    await connection.request();
  });
  using upstream = upstreamAt(server.port);

  await exchange(upstream);
  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_closed");
  assert.equal(server.accepted, 2);
});

Deno.test("Upstream does not repeat a request after a partial response", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer());
    await connection.request();
    await connection.send("HTTP/1.1 200");
  });
  using upstream = upstreamAt(server.port);

  await exchange(upstream);
  await failureOf(exchange(upstream));

  assert.equal(server.accepted, 1);
});

Deno.test("Upstream connects again after a restart of the peer", async () => {
  const first = new RawUpstream(respondToAll);
  using upstream = upstreamAt(first.port);
  await Promise.all(Array.from({ length: 8 }, () => exchange(upstream)));
  await first.stop();
  const refused = await failureOf(exchange(upstream));

  await using _second = new RawUpstream(respondToAll, first.port);

  assert.equal(refused.code, "upstream_connect_failed");
  assert.equal(await exchange(upstream), "200 ok");
});

Deno.test("Upstream closes an idle connection after a minute", async () => {
  const clock = new FakeClock();
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer());
    await connection.closedByPeer();
    closed.resolve();
  });
  using upstream = upstreamAt(server.port, {}, clock);
  await exchange(upstream);

  clock.advance(59_999);
  assert.equal(upstream.stats.idle, 1);
  clock.advance(1);

  await closed.promise;
  assert.equal(upstream.stats.idle, 0);
  assert.equal(clock.pending, 0);
});

Deno.test("Upstream closes an idle connection a second before the announced time", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer("ok", "Keep-Alive: timeout=5, max=100"));
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, {}, clock);
  await exchange(upstream);

  clock.advance(3_999);
  assert.equal(upstream.stats.idle, 1);
  clock.advance(1);
  assert.equal(upstream.stats.idle, 0);
});

Deno.test("Upstream that is retired finishes requests and keeps no connections", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    for (let first = true;; first = false) {
      await connection.request();
      await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
      if (first) await gate.promise;
      await connection.send("cd");
    }
  });
  using upstream = upstreamAt(server.port);
  const response = await send(upstream);

  upstream.retire();
  gate.resolve();

  assert.equal(await readText(response.body), "abcd");
  assert.equal(upstream.stats.idle + upstream.stats.active, 0);
  const late = await exchange(upstream);
  assert.equal(late, "200 abcd");
  assert.equal(upstream.stats.idle, 0);
});

Deno.test("Upstream that is closed fails requests in progress", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);
  const pending = failureOf(exchange(upstream));
  while (upstream.stats.active === 0) await turn();

  upstream.close();

  assert.equal((await pending).code, "upstream_closed");
});

async function respondToAll(connection: RawConnection): Promise<void> {
  for (;;) {
    await connection.request();
    await connection.send(answer());
  }
}

/** Responds to the first request of the first connection, and to all on later ones. */
async function endsOnSecondRequest(
  connection: RawConnection,
  index: number,
): Promise<void> {
  if (index > 0) return await respondToAll(connection);
  await connection.request();
  await connection.send(answer());
  await connection.request();
}

/** Waits for a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
