import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect as connectNode } from "node:http2";
import { text } from "node:stream/consumers";
import type { Outcome, RequestHandler } from "../../../../src/http/message.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  ERROR_CODES,
  FRAME_FLAGS,
  FRAME_TYPES,
  SETTINGS,
} from "../../../../src/http/http2/frames/http2_protocol.ts";
import { echo, TestServer } from "../../../harness/servers/echo_server.ts";
import {
  block,
  data,
  frame,
  GET,
  headers,
  Http2Client,
  POST,
  settings,
  uint32,
} from "../../../harness/clients/http2_client.ts";
import { createRandom } from "../../../harness/clients/mutations.ts";

const { endHeaders, endStream, padded, priority } = FRAME_FLAGS;
const {
  protocolError,
  flowControlError,
  frameSizeError,
  streamClosed,
  compressionError,
  enhanceYourCalm,
} = ERROR_CODES;

function octets(count: number): Uint8Array {
  return new Uint8Array(count);
}

/** Each ends the connection with GOAWAY and that code (RFC 9113 section 5.4.1). */
const connectionErrors: readonly (readonly [string, Uint8Array[], number])[] = [
  [
    "a frame that is too large",
    [frame(0, 0, 1, octets(16_385))],
    frameSizeError,
  ],
  ["DATA for no stream", [frame(0, 0, 0, [1])], protocolError],
  ["DATA for a stream that is not open", [data(1, "x")], protocolError],
  ["DATA with too much padding", [
    headers(1, POST, false),
    frame(0, padded, 1, [9, 1]),
  ], protocolError],
  ["HEADERS for no stream", [headers(0, GET)], protocolError],
  [
    "HEADERS with too much padding",
    [frame(1, padded | endHeaders, 1, [9, 0])],
    protocolError,
  ],
  ["HEADERS of a server's stream", [headers(2, GET)], protocolError],
  [
    "HEADERS of a stream that was skipped",
    [headers(5, GET), headers(3, GET)],
    protocolError,
  ],
  [
    "HEADERS that cannot be decompressed",
    [frame(1, endHeaders, 1, [0x80])],
    compressionError,
  ],
  [
    "HEADERS inside a header block",
    [frame(1, 0, 1), headers(3, GET)],
    protocolError,
  ],
  ["CONTINUATION without HEADERS", [frame(9, endHeaders, 1)], protocolError],
  [
    "CONTINUATION of another stream",
    [frame(1, 0, 1), frame(9, endHeaders, 3)],
    protocolError,
  ],
  ["CONTINUATION without an end", [
    frame(1, 0, 1),
    ...Array(100).fill(frame(9, 0, 1)),
  ], enhanceYourCalm],
  ["a header block without an end", [
    frame(1, 0, 1),
    ...Array(20).fill(frame(9, 0, 1, octets(16_384))),
  ], enhanceYourCalm],
  ["PRIORITY for no stream", [frame(2, 0, 0, octets(5))], protocolError],
  ["RST_STREAM for no stream", [frame(3, 0, 0, octets(4))], protocolError],
  ["RST_STREAM of a wrong length", [
    headers(1, POST, false),
    frame(3, 0, 1, octets(3)),
  ], frameSizeError],
  [
    "RST_STREAM for a stream that is not open",
    [frame(3, 0, 1, octets(4))],
    protocolError,
  ],
  ["SETTINGS for a stream", [frame(4, 0, 1)], protocolError],
  ["SETTINGS of a wrong length", [frame(4, 0, 0, octets(3))], frameSizeError],
  [
    "SETTINGS acknowledged with values",
    [frame(4, 1, 0, octets(6))],
    frameSizeError,
  ],
  [
    "SETTINGS that enable push with 2",
    [settings([SETTINGS.enablePush, 2])],
    protocolError,
  ],
  ["SETTINGS with a window that is too large", [
    settings([SETTINGS.initialWindowSize, 0x8000_0000]),
  ], flowControlError],
  ["SETTINGS with frames that are too small", [
    settings([SETTINGS.maxFrameSize, 16_383]),
  ], protocolError],
  ["PUSH_PROMISE", [frame(5, endHeaders, 1, octets(4))], protocolError],
  ["PING for a stream", [frame(6, 0, 1, octets(8))], protocolError],
  ["PING of a wrong length", [frame(6, 0, 0, octets(7))], frameSizeError],
  ["GOAWAY for a stream", [frame(7, 0, 1, octets(8))], protocolError],
  [
    "WINDOW_UPDATE of a wrong length",
    [frame(8, 0, 0, octets(3))],
    frameSizeError,
  ],
  ["WINDOW_UPDATE of 0", [frame(8, 0, 0, octets(4))], protocolError],
  ["WINDOW_UPDATE beyond the largest window", [
    frame(8, 0, 0, uint32(0x7fff_ffff)),
  ], flowControlError],
  [
    "WINDOW_UPDATE for a stream that is not open",
    [frame(8, 0, 1, uint32(1))],
    protocolError,
  ],
];
for (const [name, frames, code] of connectionErrors) {
  Deno.test(`HttpServer ends an HTTP/2 connection for ${name}`, async () => {
    await using test = await TestServer.start();
    using client = await Http2Client.connect(test.port);

    await client.send(...frames);

    assert.equal(await client.verdict(), `goaway ${code}`);
    await client.closed();
  });
}

function xs(count: number): string {
  return "x".repeat(count);
}

/** Each resets stream 3 with that code, and no other (RFC 9113 sections 5.4.2 and 8.1.1). */
const streamErrors: readonly (readonly [string, Uint8Array[], number?])[] = [
  ["a header name in upper case", [headers(3, [...GET, ["X-A", "b"]])]],
  ["an empty header name", [headers(3, [...GET, ["", "b"]])]],
  ["a line break in a header value", [
    headers(3, [...GET, ["x", "a\r\nb: c"]]),
  ]],
  ["a NUL in a header value", [headers(3, [...GET, ["x", "a\0"]])]],
  ["a header value that begins with a space", [
    headers(3, [...GET, ["x", " a"]]),
  ]],
  ["a connection header", [headers(3, [...GET, ["connection", "close"]])]],
  ["transfer-encoding", [
    headers(3, [...GET, ["transfer-encoding", "chunked"]]),
  ]],
  ["te that is not trailers", [headers(3, [...GET, ["te", "gzip"]])]],
  ["an unknown pseudo-header", [headers(3, [...GET, [":x", "a"]])]],
  ["a response's pseudo-header", [headers(3, [...GET, [":status", "200"]])]],
  ["a pseudo-header twice", [headers(3, [...GET, [":path", "/"]])]],
  ["a pseudo-header behind a header", [headers(3, [["x", "a"], ...GET])]],
  ["a missing :method", [headers(3, GET.slice(1))]],
  ["a missing :scheme", [headers(3, [...GET.slice(0, 1), ...GET.slice(2)])]],
  ["an empty :path", [headers(3, [...GET.slice(0, 2), [":path", ""]])]],
  [":protocol without CONNECT", [
    headers(3, [...GET, [":protocol", "websocket"]]),
  ]],
  ["a body that is missing", [headers(3, [...POST, ["content-length", "1"]])]],
  ["a body that is too short", [
    headers(3, [...POST, ["content-length", "3"]], false),
    data(3, "ab"),
  ]],
  ["a body that is too long", [
    headers(3, [...POST, ["content-length", "1"]], false),
    data(3, "ab"),
  ]],
  ["trailers that do not end the stream", [
    headers(3, POST, false),
    headers(3, [["x", "a"]], false),
  ]],
  ["a pseudo-header among the trailers", [
    headers(3, POST, false),
    headers(3, [[":path", "/"]]),
  ]],
  ["DATA behind the end", [headers(3, GET), data(3, "x")], streamClosed],
  [
    "HEADERS behind the end",
    [headers(3, GET), headers(3, [["x", "a"]])],
    streamClosed,
  ],
  ["more DATA than the window", [
    headers(3, POST, false),
    ...Array(9).fill(data(3, xs(16_384), false)),
  ], flowControlError],
  ["WINDOW_UPDATE of 0 for the stream", [
    headers(3, POST, false),
    frame(8, 0, 3, octets(4)),
  ]],
  ["WINDOW_UPDATE beyond the stream's largest window", [
    headers(3, POST, false),
    frame(8, 0, 3, uint32(0x7fff_ffff)),
  ], flowControlError],
  ["PRIORITY of a wrong length", [
    headers(3, POST, false),
    frame(2, 0, 3, octets(4)),
  ], frameSizeError],
  ["a stream that depends on itself", [
    frame(1, endHeaders | priority, 3, [...uint32(3), 0, ...block(POST)]),
  ]],
];
for (const [name, frames, code = protocolError] of streamErrors) {
  Deno.test(`HttpServer resets an HTTP/2 stream for ${name}, and answers the others`, async () => {
    const gate = Promise.withResolvers<void>();
    await using test = await TestServer.start({
      handler: async (request) => {
        await gate.promise;
        return await echo(request);
      },
    });
    using client = await Http2Client.connect(test.port);
    await client.send(headers(1, GET));

    await client.send(...frames);
    const verdict = await client.verdict();
    gate.resolve();

    assert.equal(verdict, `reset 3 ${code}`);
    assert.equal((await client.fields(1))[1], "200");
    await client.send(headers(5, GET));
    assert.equal((await client.fields(5))[1], "200");
  });
}

Deno.test("HttpServer reports a malformed HTTP/2 request, which the handler does not see", async () => {
  let handled = 0;
  const handler: RequestHandler = (request) => (handled++, echo(request));
  await using test = await TestServer.start({ handler });
  using client = await Http2Client.connect(test.port);

  await client.send(headers(1, [...GET, ["connection", "close"]]));
  await client.verdict();

  assert.equal(handled, 0);
  const [refused] = test.refused;
  assert.equal(refused?.error.code, "bad_request");
  assert.equal(refused?.method, "GET");
  assert.equal(refused?.bytesSent, 0);
});

Deno.test("HttpServer returns 431 to an HTTP/2 request with too many headers, or too large ones", async () => {
  await using test = await TestServer.start({
    limits: { maxHeaderBytes: 2048, maxHeaderCount: 20 },
  });
  using client = await Http2Client.connect(test.port);
  const many = Array.from({ length: 30 }, (): [string, string] => ["x", "a"]);

  await client.send(headers(1, [...GET, ["x", xs(3000)]]));
  assert.equal((await client.fields(1))[1], "431");
  await client.send(headers(3, [...GET, ...many]));
  assert.equal((await client.fields(3))[1], "431");
  await client.send(headers(5, GET));
  assert.equal((await client.fields(5))[1], "200");
});

Deno.test("HttpServer reads HTTP/2 frames in pieces and with padding", async () => {
  await using test = await TestServer.start();
  using client = await Http2Client.connect(test.port);
  const fields = block(POST);
  const frames = Buffer.concat([
    frame(1, padded | priority, 1, [
      2,
      ...octets(5),
      ...fields.slice(0, 9),
      0,
      0,
    ]),
    frame(9, 0, 1, fields.slice(9, 20)),
    frame(9, endHeaders, 1, fields.slice(20)),
    frame(0, padded, 1, [3, 97, 98, 0, 0, 0]),
    frame(0, 0, 1),
    frame(0, padded | endStream, 1, [1, 99, 0]),
  ]);

  for (const byte of frames) await client.send(Uint8Array.of(byte));
  await client.fields(1);
  const { payload } = await client.receive(FRAME_TYPES.data);

  assert.equal(JSON.parse(new TextDecoder().decode(payload)).body, "abc");
});

Deno.test("HttpServer rejects HTTP/2 requests beyond the limit, and takes others when one is done", async () => {
  const gate = Promise.withResolvers<void>();
  await using test = await TestServer.start({
    handler: async (request) => {
      await gate.promise;
      return await echo(request);
    },
    limits: { maxConcurrentStreams: 2 },
  });
  using client = await Http2Client.connect(test.port);

  await client.send(headers(1, GET), headers(3, GET), headers(5, GET));
  assert.equal(await client.verdict(), `reset 5 ${ERROR_CODES.refusedStream}`);
  gate.resolve();
  assert.equal((await client.fields(1))[1], "200");
  assert.equal((await client.fields(3))[1], "200");
  await client.send(headers(7, GET));

  assert.equal((await client.fields(7))[1], "200");
});

Deno.test("HttpServer that drains answers HTTP/2 requests that were on their way", async () => {
  await using test = await TestServer.start();
  using client = await Http2Client.connect(test.port);
  await client.send(headers(1, GET));
  await client.fields(1);

  const drained = test.server.drain();
  const announced = await client.receive(FRAME_TYPES.goAway);
  await client.send(headers(3, GET));
  assert.equal((await client.fields(3))[1], "200");
  await client.send(frame(FRAME_TYPES.ping, FRAME_FLAGS.ack, 0, octets(8)));
  const last = await client.receive(FRAME_TYPES.goAway);
  await client.closed();
  client.close();
  await drained;

  assert.equal(Buffer.from(announced.payload).readUInt32BE(0), 0x7fff_ffff);
  assert.equal(Buffer.from(last.payload).readUInt32BE(0), 3);
});

Deno.test("HttpServer reads what node:http2 compresses", async () => {
  await using test = await TestServer.start();
  const session = connectNode(`http://127.0.0.1:${test.port}`);
  const random = createRandom(9113);
  const below = (limit: number) => Math.floor(random() * limit);
  const pool = Array.from({ length: 60 }, (_, i) => [
    `x-${i % 40}-${xs(below(20))}`,
    Array.from(
      { length: below(200) },
      () => String.fromCharCode(33 + below(94)),
    ).join(""),
  ]);

  for (let i = 0; i < 100; i++) {
    const chosen = Object.fromEntries(
      Array.from({ length: 12 }, () => pool[below(60)] ?? []),
    );
    const stream = session.request({ ":path": "/", ...chosen });
    const seen = JSON.parse(await text(stream));
    assert.deepEqual(Object.fromEntries(seen.headers), chosen);
  }

  const closed = once(session, "close");
  session.close();
  await closed;
});

Deno.test("HttpServer joins interim responses and the final one of HTTP/2", async () => {
  const outcome = Promise.withResolvers<Outcome>();
  await using test = await TestServer.start({
    handler: (request) => {
      request.sendInformational(103, HeaderList.from([["Link", "</a>"]]));
      const headers = new HeaderList();
      const response = { status: 204, headers, body: undefined };
      return { response, finished: outcome.resolve };
    },
  });
  using client = await Http2Client.connect(test.port);

  await client.send(headers(1, GET));

  assert.deepEqual(await client.fields(1), [":status", "103", "link", "</a>"]);
  assert.deepEqual((await client.fields(1)).slice(0, 3), [
    ":status",
    "204",
    "date",
  ]);
  assert.equal((await outcome.promise).error, undefined);
});

Deno.test("HttpServer answers HEAD in HTTP/2 with the length and without the body", async () => {
  await using test = await TestServer.start({
    handler: () => ({
      response: {
        status: 200,
        headers: new HeaderList(),
        body: textBody("abc"),
      },
      finished: () => {},
    }),
  });
  using client = await Http2Client.connect(test.port);

  await client.send(headers(1, [[":method", "HEAD"], ...GET.slice(1)]));
  const { flags, payload } = await client.receive(FRAME_TYPES.headers);

  assert.equal(flags, endStream | endHeaders);
  assert(Buffer.from(payload).includes("\x013"));
});
