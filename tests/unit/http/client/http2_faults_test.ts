import assert from "node:assert/strict";
import {
  FRAME_TYPES,
  PREFACE,
  SETTINGS,
} from "../../../../src/http/http2/frames/http2_protocol.ts";
import {
  data,
  type Frame,
  frame,
  headers,
  Http2Client,
  settings,
  uint32,
} from "../../../harness/clients/http2_client.ts";
import {
  exchange,
  failureOf,
  readText,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

const HTTP2 = { protocol: "http2" } as const;
const OK = [[":status", "200"]] as const;

/** Answers each stream of one connection with what `respond` says; frames other than HEADERS are ignored. */
function startUpstream(
  respond: (stream: number) => readonly Uint8Array[],
  ...own: readonly (readonly [number, number])[]
): { port: number; connections: number } & Disposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const upstream = {
    port: listener.addr.port,
    connections: 0,
    [Symbol.dispose]: () => {
      listener.close();
      for (const connection of open) connection.close();
    },
  };
  void (async () => {
    for await (const connection of listener) {
      upstream.connections++;
      open.add(connection);
      void serve(connection, respond, own);
    }
  })();
  return upstream;
}

async function serve(
  connection: Deno.TcpConn,
  respond: (stream: number) => readonly Uint8Array[],
  own: readonly (readonly [number, number])[],
): Promise<void> {
  const peer = new Http2Client(connection);
  await peer.skip(PREFACE.length);
  await peer.send(settings(...own));
  for (let next: Frame | undefined; (next = await peer.next()) !== undefined;) {
    if (next.type === FRAME_TYPES.headers) {
      await peer.send(...respond(next.stream));
    }
  }
}

const malformed:
  readonly (readonly [string, (stream: number) => Uint8Array[]])[] = [
    [
      "a header name in upper case",
      (id) => [headers(id, [...OK, ["X-A", "b"]])],
    ],
    [
      "a connection header",
      (id) => [headers(id, [...OK, ["connection", "x"]])],
    ],
    ["a line break in a header", (id) => [headers(id, [...OK, ["x", "a\nb"]])]],
    ["no status", (id) => [headers(id, [["x", "a"]])]],
    ["status 101", (id) => [headers(id, [[":status", "101"]], false)]],
    [
      "a pseudo-header of requests",
      (id) => [headers(id, [...OK, [":path", "/"]])],
    ],
    [
      "two lengths",
      (
        id,
      ) => [
        headers(id, [...OK, ["content-length", "1"], ["content-length", "1"]]),
      ],
    ],
    [
      "an interim response at the end",
      (id) => [headers(id, [[":status", "103"]])],
    ],
    ["a body before its head", (id) => [data(id, "x")]],
    [
      "a window that is too large",
      (id) => [frame(8, 0, id, uint32(0x7fff_ffff))],
    ],
  ];
for (const [name, respond] of malformed) {
  Deno.test(`Upstream fails the one HTTP/2 request that is answered with ${name}`, async () => {
    using server = startUpstream((id) =>
      id === 1 ? respond(id) : [headers(id, OK, false), data(id, "ok")]
    );
    using upstream = upstreamAt(server.port, HTTP2);

    const [failure, answer] = await Promise.all([
      failureOf(exchange(upstream)),
      exchange(upstream),
    ]);

    assert.equal(failure.code, "upstream_protocol_error");
    assert.equal(answer, "200 ok");
    assert.equal(server.connections, 1);
  });
}

for (const [name, body] of [["short", "ab"], ["long", "abcd"]] as const) {
  Deno.test(`Upstream fails an HTTP/2 body that is too ${name} for its length, and no other`, async () => {
    using server = startUpstream((id) => [
      headers(id, id === 1 ? [...OK, ["content-length", "3"]] : OK, false),
      data(id, id === 1 ? body : "ok"),
    ]);
    using upstream = upstreamAt(server.port, HTTP2);

    const failing = send(upstream).then(({ body }) => readText(body));
    const [failure, answer] = await Promise.all([
      failureOf(failing),
      exchange(upstream),
    ]);

    assert.equal(failure.code, "upstream_protocol_error");
    assert.equal(answer, "200 ok");
    assert.equal(server.connections, 1);
  });
}

Deno.test("Upstream fails all requests of an HTTP/2 connection that breaks the protocol", async () => {
  using server = startUpstream((id) =>
    id === 1 ? [] : [frame(FRAME_TYPES.pushPromise, 4, 1, uint32(2))]
  );
  using upstream = upstreamAt(server.port, HTTP2);

  const failures = await Promise.all([
    failureOf(exchange(upstream)),
    failureOf(exchange(upstream)),
  ]);

  assert.deepEqual(
    failures.map(({ code }) => code),
    ["upstream_protocol_error", "upstream_protocol_error"],
  );
});

Deno.test("Upstream takes the HTTP/2 answer to HEAD, whose length is that of no body", async () => {
  using server = startUpstream((id) => [
    headers(id, [...OK, ["content-length", "3"]]),
  ]);
  using upstream = upstreamAt(server.port, HTTP2);

  const { status, headers: fields, body } = await send(upstream, {
    method: "HEAD",
  });

  assert.equal(status, 200);
  assert.equal(fields.get("content-length"), "3");
  assert.equal(body, undefined);
});

Deno.test("Upstream sends no more requests at a time than an HTTP/2 server allows", async () => {
  let open = 0;
  let most = 0;
  using server = startUpstream((id) => {
    most = Math.max(most, ++open);
    const ends = [headers(id, OK, false), data(id, "ok")];
    open--;
    return ends;
  }, [SETTINGS.maxConcurrentStreams, 1]);
  using upstream = upstreamAt(server.port, { ...HTTP2, maxConnections: 1 });

  const answers = await Promise.all([exchange(upstream), exchange(upstream)]);

  assert.deepEqual(answers, ["200 ok", "200 ok"]);
  assert.equal(most, 1);
  assert.equal(server.connections, 1);
});
