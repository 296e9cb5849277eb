import assert from "node:assert/strict";
import { describeError } from "../../../../src/base/errors.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  PushBody,
  readText,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

const heads = [
  {
    name: "keeps the order and spelling of headers",
    request: {
      target: "/a%20b/../c?d=%2F",
      headers: new HeaderList(["X-b", "1", "Accept", "*/*", "x-B", "2"]),
    },
    head: "GET /a%20b/../c?d=%2F HTTP/1.1\r\nHost: a.example\r\n" +
      "X-b: 1\r\nAccept: */*\r\nx-B: 2\r\n\r\n",
  },
  {
    name: "declares that a POST has no body",
    request: { method: "POST" },
    head: "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
  },
  {
    name: "declares no body length for a bodiless DELETE",
    request: { method: "DELETE" },
    head: "DELETE / HTTP/1.1\r\nHost: a.example\r\n\r\n",
  },
  {
    name: "keeps a correct Content-Length in place",
    request: {
      method: "POST",
      headers: new HeaderList(["content-LENGTH", "2", "X-A", "1"]),
    },
    body: "ab",
    head: "POST / HTTP/1.1\r\nHost: a.example\r\ncontent-LENGTH: 2\r\n" +
      "X-A: 1\r\n\r\nab",
  },
  {
    name: "corrects a wrong Content-Length",
    request: {
      method: "POST",
      headers: new HeaderList(["Content-Length", "99", "X-A", "1"]),
    },
    body: "ab",
    head: "POST / HTTP/1.1\r\nHost: a.example\r\nX-A: 1\r\n" +
      "Content-Length: 2\r\n\r\nab",
  },
  {
    name: "drops a Content-Length without a body",
    request: { headers: new HeaderList(["Content-Length", "99"]) },
    head: "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
  },
  {
    name: "forwards non-ASCII header values unchanged",
    request: { headers: new HeaderList(["X-A", "caf\xe9"]) },
    head: "GET / HTTP/1.1\r\nHost: a.example\r\nX-A: caf\xe9\r\n\r\n",
  },
];

for (const { name, request, body, head } of heads) {
  Deno.test(`Upstream ${name}`, async () => {
    let received = "";
    await using server = new RawUpstream(async (connection) => {
      received = await connection.request();
      await connection.send(answer());
    });
    using upstream = upstreamAt(server.port);

    await exchange(upstream, request, body && textBody(body) || undefined);

    assert.equal(received, head);
  });
}

Deno.test("Upstream sends a body of unknown length in chunks, with its trailers", async () => {
  let received = "";
  await using server = new RawUpstream(async (connection) => {
    received = await connection.request();
    await connection.send(answer());
  });
  using upstream = upstreamAt(server.port);
  const body = new PushBody();
  const headers = new HeaderList(["Content-Length", "1"]);
  body.push("hello");
  body.push(" world");
  body.end(new HeaderList(["X-Sum", "42"]));

  await exchange(upstream, { method: "PUT", headers }, body);

  assert.equal(
    received,
    "PUT / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n" +
      "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n",
  );
});

Deno.test("Upstream sends each part of a body as soon unchanged here", async () => {
  const seen = Promise.withResolvers<string>();
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    seen.resolve(await connection.take(8));
    await connection.take(5);
    await connection.send(answer());
  });
  using upstream = upstreamAt(server.port);
  const body = new PushBody();
  const done = exchange(upstream, { method: "POST" }, body);

  body.push("abc");

  assert.equal(await seen.promise, "3\r\nabc\r\n");
  body.end();
  assert.equal(await done, "200 ok");
});

Deno.test("Upstream forwards trailers of the response", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
        "2\r\nab\r\n0\r\nGrpc-Status: 0\r\n\r\n",
    );
  });
  using upstream = upstreamAt(server.port);

  const response = await send(upstream);
  await readText(response.body);

  assert.deepEqual([...response.body?.trailers ?? []], [["Grpc-Status", "0"]]);
});

Deno.test("Upstream forwards all but hop-by-hop headers", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer(
      "ok",
      "Server: x",
      "Connection: keep-alive, X-Secret",
      "Keep-Alive: timeout=20",
      "X-Secret: 1",
      "SET-Cookie: a=1",
      "Set-Cookie: b=2",
      "Content-Encoding: gzip",
    ));
  });
  using upstream = upstreamAt(server.port);

  const { headers, body } = await send(upstream);
  body?.cancel("read enough");

  assert.deepEqual([...headers], [
    ["Server", "x"],
    ["SET-Cookie", "a=1"],
    ["Set-Cookie", "b=2"],
    ["Content-Encoding", "gzip"],
    ["Content-Length", "2"],
  ]);
});

Deno.test("Upstream forwards interim responses and waits for the final one", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n",
      "Link: </a>\r\nConnection: close\r\n\r\n",
      answer(),
    );
  });
  using upstream = upstreamAt(server.port);
  const seen: unknown[] = [];

  const result = await exchange(upstream, {
    sendInformational: (status, headers) => seen.push([status, ...headers]),
  });

  assert.equal(result, "200 ok");
  assert.deepEqual(seen, [[102], [103, ["Link", "</a>"]]]);
});

Deno.test("Upstream delays a body until a 100 response", async () => {
  const body = new PushBody(4);
  body.push("body");
  body.end();
  await using server = new RawUpstream(async (connection) => {
    const head = await connection.head();
    assert.match(head, /Expect: 100-continue\r\n/);
    assert.equal(body.reads, 0);
    await connection.send("HTTP/1.1 100 Continue\r\n\r\n");
    assert.equal(await connection.take(4), "body");
    await connection.send(answer());
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, {}, new FakeClock());

  const request = { method: "POST", expectsContinue: true };
  assert.equal(await exchange(upstream, request, body), "200 ok");
  assert.equal(upstream.stats.idle, 1);
});

Deno.test("Upstream sends a body without a 100 response after a second", async () => {
  const clock = new FakeClock();
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    clock.advance(1000);
    assert.equal(await connection.take(4), "body");
    await connection.send(answer());
  });
  using upstream = upstreamAt(server.port, {}, clock);

  const request = { method: "POST", expectsContinue: true };
  assert.equal(await exchange(upstream, request, textBody("body")), "200 ok");
});

Deno.test("Upstream does not read a body that the peer rejected immediately", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.send("HTTP/1.1 413 X\r\nContent-Length: 3\r\n\r\nbig");
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, {}, new FakeClock());
  const body = new PushBody(4);

  const request = { method: "POST", expectsContinue: true };
  assert.equal(await exchange(upstream, request, body), "413 big");

  assert.equal(body.reads, 0);
  assert.equal(body.cancelledWith, undefined);
  assert.equal(upstream.stats.idle + upstream.stats.active, 0);
});

Deno.test("Upstream stops sending a body when the peer rejects it midway", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.take(8);
    await connection.send("HTTP/1.1 401 X\r\nContent-Length: 2\r\n\r\nno");
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);
  const body = new PushBody();
  body.push("abc");

  assert.equal(await exchange(upstream, { method: "POST" }, body), "401 no");

  assert.notEqual(body.cancelledWith, undefined);
  assert.equal(upstream.stats.idle + upstream.stats.active, 0);
});

Deno.test("Upstream streams in both directions concurrently", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.send(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let i = 0; i < 3; i++) {
      await connection.send(
        "3\r\n" + (await connection.take(8)).slice(3, 6) + "\r\n",
      );
    }
    await connection.take(5);
    await connection.send("0\r\n\r\n");
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);
  const body = new PushBody();

  const response = await send(upstream, { method: "POST" }, body);
  const decoder = new TextDecoder();
  for (const text of ["abc", "def", "ghi"]) {
    body.push(text);
    assert.equal(decoder.decode(await response.body?.read()), text);
  }
  body.end();

  assert.equal(await response.body?.read(), undefined);
  assert.equal(upstream.stats.idle, 1);
});

Deno.test("Upstream returns the response of a peer that stopped reading and closed", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    await connection.send("HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno");
    await connection.closeWrite();
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);

  const body = new PushBody(1_000_000);
  body.push("x".repeat(1000));

  assert.equal(await exchange(upstream, { method: "POST" }, body), "413 no");
});

Deno.test("Upstream fails with the client's error when the client's body fails", async () => {
  await using server = new RawUpstream((connection) =>
    connection.closedByPeer()
  );
  using upstream = upstreamAt(server.port);
  const body = new PushBody(10);
  body.push("abc");
  body.fail(new Error("client vanished"));

  const failure = await failureOf(exchange(upstream, { method: "POST" }, body));

  assert.equal(failure.code, "client_closed");
  assert.match(describeError(failure), /client vanished/);
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream sends no complete request for a truncated body", async () => {
  await using server = new RawUpstream((connection) =>
    connection.closedByPeer()
  );
  using upstream = upstreamAt(server.port);
  const body = new PushBody(10);
  body.push("abc");
  body.end();

  const failure = await failureOf(exchange(upstream, { method: "POST" }, body));

  assert.equal(failure.code, "internal");
});

Deno.test("Upstream uploads 100 MB with little memory", async () => {
  const mebibyte = 1024 * 1024;
  const total = 100 * mebibyte;
  let received = 0;
  await using server = new RawUpstream(async (connection) => {
    await connection.head();
    for (; received < total; received += mebibyte) {
      await connection.take(mebibyte);
    }
    await connection.send(answer());
  });
  using upstream = upstreamAt(server.port);
  const { length, read } = zeros(total);
  let pulled = 0;
  let mostOnTheWay = 0;

  const result = await exchange(upstream, { method: "POST" }, {
    length,
    read() {
      const chunk = read();
      pulled += chunk?.length ?? 0;
      mostOnTheWay = Math.max(mostOnTheWay, pulled - received);
      return chunk;
    },
    trailers: undefined,
    cancel: () => {},
  });

  assert.equal(result, "200 ok");
  assert.equal(pulled, total);
  // Socket buffers and the mebibyte being received.
  assert.ok(mostOnTheWay < 40 * mebibyte, `${mostOnTheWay} bytes`);
});

Deno.test("Upstream reads a response no faster than it is consumed", async () => {
  let written = 0;
  const mebibyte = new Uint8Array(1024 * 1024);
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\n\r\n");
    for (; written < 64; written++) await connection.send(mebibyte);
  });
  using upstream = upstreamAt(server.port);

  const response = await send(upstream);
  await response.body?.read();
  for (let i = 0; i < 20; i++) await new Promise((done) => setTimeout(done, 5));

  assert.ok(written < 20, `Took ${written} MiB without demand`);
  response.body?.cancel("enough");
});

/** Creates a body of zero bytes from one buffer. */
function zeros(total: number) {
  const chunk = new Uint8Array(64 * 1024);
  let left = total;
  return {
    length: total,
    read(): Uint8Array | undefined {
      if (left === 0) return undefined;
      const next = chunk.subarray(0, Math.min(left, chunk.length));
      left -= next.length;
      return next;
    },
  };
}
