import assert from "node:assert/strict";
import { describeError } from "../../../../src/base/errors.ts";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import {
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

const HTTP2 = { protocol: "http2" } as const;

Deno.test("Upstream sends a request in HTTP/2", async () => {
  let received: Record<string, unknown> = {};
  await using server = await NodeUpstream.http2((stream, headers) => {
    received = { ...headers };
    stream.respond({
      ":status": 201,
      "x-a": "1",
      "set-cookie": ["a=1", "b=2"],
    });
    stream.end("made");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const headers = new HeaderList([
    "X-B",
    "1",
    "x-b",
    "2",
    "Content-Length",
    "4",
  ]);

  const response = await send(
    upstream,
    { method: "POST", target: "/a?b", headers },
    textBody("body"),
  );

  assert.equal(response.status, 201);
  assert.equal(await readText(response.body), "made");
  assert.deepEqual(response.headers.getAll("set-cookie"), ["a=1", "b=2"]);
  assert.equal(received[":method"], "POST");
  assert.equal(received[":path"], "/a?b");
  assert.equal(received[":authority"], "a.example");
  assert.equal(received[":scheme"], "http");
  assert.equal(received["x-b"], "1, 2");
  assert.equal(received["content-length"], "4");
  assert.equal(received["te"], "trailers");
});

Deno.test("Upstream sends all requests on one HTTP/2 connection", async () => {
  await using server = await NodeUpstream.http2((stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(headers[":path"]);
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const targets = Array.from({ length: 50 }, (_, i) => `/${i}`);

  const answers = await Promise.all(
    targets.map((target) => exchange(upstream, { target })),
  );

  assert.deepEqual(answers, targets.map((target) => `200 ${target}`));
  assert.equal(server.connections, 1);
  assert.equal(upstream.stats.connects, 1);
  assert.equal(upstream.stats.reuses, 49);
  assert.equal(upstream.stats.idle, 1);
});

Deno.test("Upstream opens another HTTP/2 connection when one is full", async () => {
  const settings = { maxConcurrentStreams: 2 };
  await using server = await NodeUpstream.http2((stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(headers[":path"]);
  }, { settings });
  using upstream = upstreamAt(server.port, { ...HTTP2, maxConnections: 3 });
  const targets = Array.from({ length: 30 }, (_, i) => `/${i}`);

  const answers = await Promise.all(
    targets.map((target) => exchange(upstream, { target })),
  );

  assert.deepEqual(answers, targets.map((target) => `200 ${target}`));
  assert.ok(upstream.stats.connects <= 3);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream passes trailers both ways in HTTP/2", async () => {
  const seen = Promise.withResolvers<unknown>();
  await using server = await NodeUpstream.http2((stream) => {
    stream.on("trailers", (trailers) => seen.resolve(trailers["x-sum"]));
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on(
      "wantTrailers",
      () => stream.sendTrailers({ "grpc-status": "0" }),
    );
    stream.pipe(stream);
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const body = new PushBody();
  body.push("ping");
  body.end(new HeaderList(["X-Sum", "42"]));

  const response = await send(upstream, { method: "POST" }, body);

  assert.equal(await readText(response.body), "ping");
  assert.equal(response.body?.trailers?.get("grpc-status"), "0");
  assert.equal(await seen.promise, "42");
});

Deno.test("Upstream drops trailers that HTTP/2 has no place for", async () => {
  const seen = Promise.withResolvers<unknown>();
  await using server = await NodeUpstream.http2((stream) => {
    stream.on("trailers", (trailers) => seen.resolve(Object.entries(trailers)));
    stream.respond({ ":status": 200 }, { endStream: true });
    stream.resume();
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const body = new PushBody();
  body.end(new HeaderList(["Http2-Settings", "AAMAAABk", "X-Sum", "42"]));

  await send(upstream, { method: "POST" }, body);

  assert.deepEqual(await seen.promise, [["x-sum", "42"]]);
});

Deno.test("Upstream sends fields named like what every object has", async () => {
  const names = ["constructor", "__proto__"];
  await using server = await NodeUpstream.http2((stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(names.map((name) => headers[name]).join());
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const headers = HeaderList.from(names.map((name) => [name, "x"]));

  const response = await send(upstream, { headers });

  assert.equal(await readText(response.body), "x,x");
});

Deno.test("Upstream takes an HTTP/2 response without a body", async () => {
  await using server = await NodeUpstream.http2((stream) =>
    stream.respond({ ":status": 204 }, { endStream: true })
  );
  using upstream = upstreamAt(server.port, HTTP2);

  const response = await send(upstream);

  assert.equal(response.status, 204);
  assert.equal(response.body, undefined);
  while (upstream.stats.idle === 0) await turn();
});

Deno.test("Upstream streams in both directions in HTTP/2", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const body = new PushBody();
  const decoder = new TextDecoder();

  const response = await send(upstream, { method: "POST" }, body);
  for (const text of ["abc", "def"]) {
    body.push(text);
    assert.equal(decoder.decode(await response.body?.read()), text);
  }
  body.end();

  assert.equal(await response.body?.read(), undefined);
});

Deno.test("Upstream hands interim responses of HTTP/2 on", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.additionalHeaders({ ":status": 103, link: "</a>" });
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const seen: unknown[] = [];

  await exchange(upstream, {
    sendInformational: (status, headers) => seen.push([status, ...headers]),
  });

  assert.deepEqual(seen, [[103, ["link", "</a>"]]]);
});

Deno.test("Upstream resets the HTTP/2 stream when the client leaves", async () => {
  const reset = Promise.withResolvers<number>();
  await using server = await NodeUpstream.http2((stream) =>
    stream.on("close", () => reset.resolve(stream.rstCode))
  );
  using upstream = upstreamAt(server.port, HTTP2);
  const cancellation = new Cancellation();
  const failure = failureOf(send(upstream, {}, undefined, cancellation));
  while (upstream.stats.active === 0) await turn();

  cancellation.cancel("gone");

  assert.equal((await failure).code, "client_closed");
  assert.equal(await reset.promise, 8);
  assert.equal(server.connections, 1);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream resets the HTTP/2 stream of a body that is given up", async () => {
  const reset = Promise.withResolvers<number>();
  await using server = await NodeUpstream.http2((stream) => {
    stream.on("close", () => reset.resolve(stream.rstCode));
    stream.respond({ ":status": 200 });
    stream.write("abc");
  });
  using upstream = upstreamAt(server.port, HTTP2);

  const { body } = await send(upstream);
  body?.cancel("enough");

  assert.equal(await reset.promise, 8);
  while (upstream.stats.active > 0) await turn();
});

Deno.test("Upstream survives answers to HTTP/2 requests that it just reset", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.write("x".repeat(10_000));
    stream.close(2);
  });
  using upstream = upstreamAt(server.port, HTTP2);

  // With a connection that is there: node:http2 keeps the socket of a client that disconnects during the handshake.
  await exchange(upstream).catch(() => {});
  for (let i = 0; i < 200; i++) {
    const cancellation = new Cancellation();
    const sending = send(upstream, {}, undefined, cancellation);
    for (let turns = i % 4; turns > 0; turns--) await turn();
    cancellation.cancel("gone");
    await sending.catch(() => {});
  }

  while (upstream.stats.active > 0) await turn();
});

Deno.test("Upstream fails an HTTP/2 request that is not answered in time", async () => {
  const clock = new FakeClock();
  await using server = await NodeUpstream.http2(() => {});
  const limits = { ...HTTP2, firstByteTimeoutMs: 300 };
  using upstream = upstreamAt(server.port, limits, clock);
  const failure = failureOf(exchange(upstream));
  while (upstream.stats.active === 0) await turn();

  clock.advance(300);

  assert.equal((await failure).code, "upstream_timeout");
});

Deno.test("Upstream fails an HTTP/2 body that stops coming", async () => {
  const clock = new FakeClock();
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.write("abc");
  });
  const limits = { ...HTTP2, idleTimeoutMs: 300 };
  using upstream = upstreamAt(server.port, limits, clock);
  const { body } = await send(upstream);
  await body?.read();

  clock.advance(60_000);
  const failure = failureOf(Promise.resolve(body?.read()));
  await turn();
  clock.advance(300);

  assert.equal((await failure).code, "upstream_timeout");
});

Deno.test("Upstream fails an HTTP/2 body that is cut", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.write("abc");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const { body } = await send(upstream);
  await body?.read();
  const failure = failureOf(Promise.resolve(body?.read()));

  server.cut();

  assert.equal((await failure).code, "upstream_closed");
  while (upstream.stats.idle + upstream.stats.active > 0) await turn();
});

Deno.test("Upstream reads an HTTP/2 response no faster than it is consumed", async () => {
  let written = 0;
  await using server = await NodeUpstream.http2((stream) => {
    const chunk = new Uint8Array(64 * 1024);
    const write = () => {
      while (written < 1000) {
        written++;
        if (!stream.write(chunk)) return stream.once("drain", write);
      }
    };
    stream.respond({ ":status": 200 });
    write();
  });
  using upstream = upstreamAt(server.port, HTTP2);

  const { body } = await send(upstream);
  await body?.read();
  for (let i = 0; i < 50; i++) await turn();

  assert.ok(written < 40, `Took ${written} × 64 KiB without demand`);
  body?.cancel("enough");
});

Deno.test("Upstream lets no slow client of an HTTP/2 connection hold up the others", async () => {
  const bytes = "x".repeat(1024 * 1024);
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.end(bytes);
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const slow = await Promise.all(
    Array.from({ length: 8 }, () => send(upstream)),
  );
  for (let i = 0; i < 20; i++) await turn();

  const fast = await exchange(upstream);

  assert.equal(fast, `200 ${bytes}`);
  assert.equal(server.connections, 1);
  for (const { body } of slow) body?.cancel("enough");
});

Deno.test("Upstream uploads no faster than the HTTP/2 side reads", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.pause();
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const cancellation = new Cancellation();
  const chunk = new Uint8Array(64 * 1024);
  let read = 0;
  const body = {
    length: undefined,
    trailers: undefined,
    read: () => (read++, chunk),
    cancel: () => {},
  };
  const request = { method: "POST" };
  const failure = failureOf(send(upstream, request, body, cancellation));
  for (let i = 0; i < 100; i++) await turn();

  assert.ok(read < 40, `Sent ${read} × 64 KiB that nobody read`);
  cancellation.cancel("done");
  await failure;
});

Deno.test("Upstream repeats a request that the HTTP/2 side rejected", async () => {
  let count = 0;
  await using server = await NodeUpstream.http2((stream) => {
    if (++count === 1) return stream.close(7);
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using upstream = upstreamAt(server.port, HTTP2);

  assert.equal(await exchange(upstream, { method: "POST" }), "200 ok");
  assert.equal(count, 2);
});

Deno.test("Upstream repeats a request that the HTTP/2 side says it never saw", async () => {
  const settings = frame(4, 0, 0);
  const goAway = frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]);
  const answer = frame(1, 5, 1, [0x88]);
  await using server = new RawUpstream(async (connection, index) => {
    await connection.take(24);
    await connection.send(settings);
    await requestFrame(connection);
    await connection.send(index === 0 ? goAway : answer);
    if (index > 0) await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, HTTP2);

  assert.equal(await exchange(upstream, { method: "POST" }), "200 ");
  assert.equal(server.accepted, 2);
});

Deno.test("Upstream leaves an HTTP/2 connection that goes away, and finishes there", async () => {
  const gate = Promise.withResolvers<void>();
  let streams = 0;
  await using server = await NodeUpstream.http2(async (stream) => {
    streams++;
    if (streams === 1) {
      stream.session?.goaway(0, stream.id);
      stream.respond({ ":status": 200 });
      stream.write("a");
      await gate.promise;
      stream.end("b");
      return;
    }
    stream.respond({ ":status": 200 });
    stream.end("new");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const first = await send(upstream);
  for (let i = 0; i < 5; i++) await turn();

  const second = await exchange(upstream);
  gate.resolve();

  assert.equal(second, "200 new");
  assert.equal(upstream.stats.connects, 2);
  assert.equal(await readText(first.body), "ab");
});

Deno.test("Upstream connects anew after an HTTP/2 connection was cut", async () => {
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  await exchange(upstream);

  server.cut();
  while (upstream.stats.idle > 0) await turn();

  assert.equal(await exchange(upstream), "200 ok");
});

Deno.test("Upstream fails when the upstream does not speak HTTP/2", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.take(24);
    await connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  using upstream = upstreamAt(server.port, HTTP2);

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_protocol_error");
  assert.match(failure.message, /Cannot speak HTTP\/2 with "127/);
});

Deno.test("Upstream that is retired finishes its HTTP/2 streams", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await NodeUpstream.http2(async (stream) => {
    stream.respond({ ":status": 200 });
    stream.write("a");
    await gate.promise;
    stream.end("b");
  });
  using upstream = upstreamAt(server.port, HTTP2);
  const { body } = await send(upstream);

  upstream.retire();
  gate.resolve();

  assert.equal(await readText(body), "ab");
  while (upstream.stats.idle + upstream.stats.active > 0) await turn();
});

Deno.test("Upstream chooses HTTP/2 by ALPN, and HTTP/1.1 for upgrades", async () => {
  const authority = await createAuthority();
  const keys = await authority.issueServer(["b.example"]);
  await using server = await NodeUpstream.http2OverTls(
    (stream, headers) => {
      stream.respond({ ":status": 200 });
      stream.end(`2 ${headers[":scheme"]}`);
    },
    { ...keys, allowHTTP1: true },
    (_request, response) => response.end("1.1"),
  );
  const tls = {
    hostname: "b.example",
    subjectAltNames: [],
    caCertificates: [authority.cert],
  };
  using auto = upstreamAt(server.port, { tls });
  using http1 = upstreamAt(server.port, { tls, protocol: "http1" });
  using http2 = upstreamAt(server.port, { tls, ...HTTP2 });

  assert.equal(await exchange(auto), "200 2 https");
  assert.equal(await exchange(auto, { upgrade: "websocket" }), "200 1.1");
  assert.equal(await exchange(http1), "200 1.1");
  assert.equal(await exchange(http2), "200 2 https");
});

Deno.test("Upstream rejects HTTP/1.1 where HTTP/2 is requested", async () => {
  const authority = await createAuthority();
  const keys = await authority.issueServer(["b.example"]);
  await using server = await NodeUpstream.overTls(keys);
  const tls = {
    hostname: "b.example",
    subjectAltNames: [],
    caCertificates: [authority.cert],
  };
  using upstream = upstreamAt(server.port, { tls, ...HTTP2 });

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_tls_failed");
  assert.match(describeError(failure), /Cannot agree on HTTP\/2/);
});

Deno.test("Upstream closes an idle HTTP/2 connection after a minute", async () => {
  const clock = new FakeClock();
  await using server = await NodeUpstream.http2((stream) => {
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using upstream = upstreamAt(server.port, HTTP2, clock);
  await exchange(upstream);
  while (upstream.stats.idle === 0) await turn();

  clock.advance(60_000);

  assert.equal(upstream.stats.idle, 0);
});

/** A frame as in RFC 9113 section 4.1. */
function frame(
  type: number,
  flags: number,
  stream: number,
  payload: readonly number[] = [],
): Uint8Array {
  const header = [0, 0, payload.length, type, flags, 0, 0, 0, stream];
  return Uint8Array.of(...header, ...payload);
}

/** Reads frames up to the `HEADERS` of a request. */
async function requestFrame(connection: RawConnection): Promise<void> {
  for (;;) {
    const header = await connection.take(9);
    const length = header.charCodeAt(1) * 256 + header.charCodeAt(2);
    await connection.take(length);
    if (header.charCodeAt(3) === 1) return;
  }
}

/** Waits for a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
