import assert from "node:assert/strict";
import { once } from "node:events";
import http2, { type ClientHttp2Session } from "node:http2";
import { text } from "node:stream/consumers";
import { type Body, textBody } from "../../../src/http/body.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type { Outcome } from "../../../src/http/message.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { readText, TestServer } from "../../harness/servers/echo_server.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

const authority = await createAuthority();
const pair = await authority.issueServer(["localhost"]);
const tls = { certificates: [pair] as const };

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, "");

/** A frame of HTTP/2 with less than 256 bytes. */
function frame(type: number, flags: number, payload: string, stream = 0) {
  return String.fromCharCode(0, 0, payload.length, type, flags, 0, 0, 0) +
    String.fromCharCode(stream) + payload;
}

async function closedByServer({ transport }: RawClient): Promise<void> {
  while (await transport.read(new Uint8Array(1024)) !== null);
}

async function connect(
  port: number,
  scheme: "http" | "https",
): Promise<ClientHttp2Session> {
  const session = http2.connect(`${scheme}://localhost:${port}`, {
    ca: authority.cert,
    lookup: (
      _name: string,
      _options: unknown,
      done: (e: null, address: { address: string; family: number }[]) => void,
    ) => done(null, [{ address: "127.0.0.1", family: 4 }]),
  } as http2.SecureClientSessionOptions);
  session.on("error", () => {});
  await once(session, "connect");
  return session;
}

async function close(session: ClientHttp2Session): Promise<void> {
  if (session.destroyed) return;
  const closed = once(session, "close");
  session.close();
  await closed;
}

for (const scheme of ["http", "https"] as const) {
  Deno.test(`HttpServer speaks HTTP/2 over ${scheme}`, async () => {
    await using test = await TestServer.start(
      {},
      scheme === "https" ? tls : undefined,
    );
    const session = await connect(test.port, scheme);

    const stream = session.request({
      ":method": "POST",
      ":path": "/a?b",
      "x-a": "1",
      cookie: ["a=1", "b=2"],
      te: "trailers",
    });
    stream.end("hello");
    const [headers] = await once(stream, "response");
    const seen = JSON.parse(await text(stream));

    assert.equal(headers[":status"], 200);
    assert.deepEqual(seen, {
      version: "2",
      method: "POST",
      scheme,
      authority: `localhost:${test.port}`,
      target: "/a?b",
      upgrade: "",
      headers: [["x-a", "1"], ["cookie", "a=1; b=2"]],
      body: "hello",
      trailers: [],
    });
    await close(session);
  });
}

Deno.test("HttpServer passes trailers both ways over HTTP/2", async () => {
  let received: HeaderList | undefined;
  await using test = await TestServer.start({
    handler: async (request) => {
      await readText(request.body);
      received = request.body?.trailers;
      const body: Body = {
        length: undefined,
        trailers: HeaderList.from([["grpc-status", "0"]]),
        read: () => undefined,
        cancel: () => {},
      };
      const headers = HeaderList.from([["content-type", "application/grpc"]]);
      return { response: { status: 200, headers, body }, finished: () => {} };
    },
  }, tls);
  const session = await connect(test.port, "https");

  const stream = session.request({ ":method": "POST", te: "trailers" }, {
    waitForTrailers: true,
  });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "1" }));
  stream.end("x");
  stream.resume();
  const [trailers] = await once(stream, "trailers");

  assert.equal(trailers["grpc-status"], "0");
  assert.deepEqual([...received ?? []], [["x-sum", "1"]]);
  await close(session);
});

Deno.test("HttpServer drops response fields that have no place in HTTP/2", async () => {
  const odd = HeaderList.from([
    ["Connection", "x"],
    ["HTTP2-Settings", "AAMAAABk"],
    ["X-Kept", "1"],
  ]);
  await using test = await TestServer.start({
    handler: () => {
      const body: Body = {
        length: undefined,
        trailers: odd,
        read: () => undefined,
        cancel: () => {},
      };
      const response = { status: 200, headers: odd.copy(), body };
      return { response, finished: () => {} };
    },
  });
  const session = await connect(test.port, "http");

  const stream = session.request({ te: "trailers" });
  stream.resume();
  const [[headers], [trailers]] = await Promise.all([
    once(stream, "response"),
    once(stream, "trailers"),
  ]);

  assert.deepEqual(Object.keys(headers), [":status", "x-kept", "date"]);
  assert.deepEqual(Object.keys(trailers), ["x-kept"]);
  await close(session);
});

Deno.test("HttpServer rejects odd HTTP/2 requests", async (t) => {
  await using test = await TestServer.start({}, tls);
  const cases: readonly [string, Record<string, string>, number][] = [
    ["Host differs", { ":authority": "a.example", host: "b.example" }, 400],
    ["odd authority", { ":authority": "a_b%20c" }, 400],
    ["fragment", { ":path": "/a#b" }, 400],
    ["unknown expectation", { expect: "200-ok" }, 417],
  ];
  for (const [name, fields, status] of cases) {
    await t.step(name, async () => {
      const session = await connect(test.port, "https");
      const stream = session.request({ ":path": "/", ...fields });
      const [headers] = await once(stream, "response");
      stream.resume();
      assert.equal(headers[":status"], status);
      await close(session);
    });
  }
});

Deno.test("HttpServer tells the handler when an HTTP/2 client resets the stream", async () => {
  const seen = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<unknown>();
  const outcome = Promise.withResolvers<Outcome>();
  await using test = await TestServer.start({
    handler: (request) => {
      seen.resolve();
      return new Promise((resolve) =>
        request.cancellation.onCancel((reason) => {
          cancelled.resolve(reason);
          resolve({ response: ok("late"), finished: outcome.resolve });
        })
      );
    },
  }, tls);
  const session = await connect(test.port, "https");
  const stream = session.request({ ":path": "/" });
  stream.on("error", () => {});
  await seen.promise;

  stream.close(http2.constants.NGHTTP2_CANCEL);

  assert.match(String(await cancelled.promise), /client disconnected/);
  assert.match(String((await outcome.promise).error), /client disconnected/);
  await close(session);
});

Deno.test("HttpServer resets an HTTP/2 stream whose body fails", async () => {
  const outcome = Promise.withResolvers<Outcome>();
  await using test = await TestServer.start({
    handler: () => {
      let reads = 0;
      const body: Body = {
        length: undefined,
        trailers: undefined,
        read: () =>
          reads++ === 0
            ? new TextEncoder().encode("part")
            : Promise.reject(new Error("upstream broke")),
        cancel: () => {},
      };
      const headers = new HeaderList();
      return {
        response: { status: 200, headers, body },
        finished: outcome.resolve,
      };
    },
  }, tls);
  const session = await connect(test.port, "https");
  const stream = session.request({ ":path": "/" });

  await assert.rejects(text(stream));

  assert.match(String((await outcome.promise).error), /upstream broke/);
  await close(session);
});

Deno.test("HttpServer relays large bodies over HTTP/2 with back-pressure", async () => {
  const total = 5_000_000;
  const block = new Uint8Array(50_000);
  let produced = 0;
  await using test = await TestServer.start({
    handler: () => {
      const body: Body = {
        length: total,
        trailers: undefined,
        read: () =>
          produced < total ? (produced += block.length, block) : undefined,
        cancel: () => {},
      };
      const headers = new HeaderList();
      return { response: { status: 200, headers, body }, finished: () => {} };
    },
  }, tls);
  const session = await connect(test.port, "https");
  const stream = session.request({ ":path": "/" });
  await once(stream, "response");
  await once(stream, "readable");
  const early = produced;

  let received = 0;
  for await (const chunk of stream) received += chunk.length;

  assert.ok(early < total, `${early}`);
  assert.equal(received, total);
  await close(session);
});

Deno.test("HttpServer answers before an HTTP/2 upload is over", async () => {
  await using test = await TestServer.start({
    handler: () => ({ response: ok("no thanks"), finished: () => {} }),
  }, tls);
  const session = await connect(test.port, "https");
  const stream = session.request({ ":method": "POST" });
  stream.on("error", () => {});
  stream.write("x".repeat(10_000));
  const answer = await text(stream);
  stream.end();

  assert.equal(answer, "no thanks");
  await close(session);
});

Deno.test("HttpServer disconnects an HTTP/2 client that resets stream after stream", async () => {
  let seen = Promise.withResolvers<void>();
  await using test = await TestServer.start({
    handler: () => {
      seen.resolve();
      return new Promise(() => {});
    },
    limits: { maxStreamResets: 20 },
  }, tls);
  const session = await connect(test.port, "https");
  const closed = new Promise<void>((resolve) => session.once("close", resolve));

  let sent = 0;
  while (!session.destroyed && sent < 100) {
    seen = Promise.withResolvers();
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    sent++;
    await Promise.race([seen.promise, closed]);
    stream.close(http2.constants.NGHTTP2_CANCEL);
  }
  await closed;

  assert.ok(sent > 20 && sent < 100, `${sent}`);
});

Deno.test("HttpServer handles nothing that an HTTP/2 client resets at once", async () => {
  let handled = 0;
  await using test = await TestServer.start({
    handler: () => {
      handled++;
      return new Promise(() => {});
    },
    limits: { maxStreamResets: 5 },
  });
  using client = await RawClient.connect(test.port);
  // GET http://a/, the names out of the static table of RFC 7541.
  const fields = "\x82\x86\x84\x01\x01a";
  let flood = PREFACE;
  for (let stream = 1; stream < 101; stream += 2) {
    flood += frame(HEADERS, END_STREAM | END_HEADERS, fields, stream);
    flood += frame(RST_STREAM, 0, "\0\0\0\x08", stream);
  }

  await client.send(flood);
  await closedByServer(client);

  assert.equal(handled, 0);
});

Deno.test("HttpServer survives HTTP/2 clients that break off in mid-frame", async () => {
  const reset = frame(RST_STREAM, 0, "\0\0\0\x02", 1);
  const breaks = [
    frame(PING, ACK, "12345678") + reset,
    frame(GOAWAY, 0, "\0\0\0\0\0\0\0\x01") + reset,
  ];
  await using test = await TestServer.start();

  for (let i = 0; i < 40; i++) {
    using client = await RawClient.connect(test.port);
    await client.send(PREFACE + breaks[i % 2]);
    await closedByServer(client);
  }

  const session = await connect(test.port, "http");
  const stream = session.request({ ":path": "/" });
  const [headers] = await once(stream, "response");
  assert.equal(headers[":status"], 200);
  stream.resume();
  await close(session);
});

Deno.test("HttpServer drains HTTP/2 connections", async () => {
  const reply = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  await using test = await TestServer.start({
    handler: async () => {
      seen.resolve();
      await reply.promise;
      return { response: ok("done"), finished: () => {} };
    },
  }, tls);
  const session = await connect(test.port, "https");
  const stream = session.request({ ":path": "/" });
  await seen.promise;

  const drained = test.server.drain();
  reply.resolve();

  assert.equal(await text(stream), "done");
  await drained;
});

Deno.test("HttpServer lets HTTP/1.1 over TLS pass a preface for what it is not", async () => {
  await using test = await TestServer.start({}, tls);
  using client = await RawClient.connect(test.port, authority.cert);

  await client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

  assert.equal((await client.receive())?.status, 505);
});

function ok(body: string) {
  return { status: 200, headers: new HeaderList(), body: textBody(body) };
}
