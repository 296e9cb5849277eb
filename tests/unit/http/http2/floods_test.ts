import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Body } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  ERROR_CODES,
  FRAME_FLAGS,
  FRAME_TYPES,
  SETTINGS,
} from "../../../../src/http/http2/frames/http2_protocol.ts";
import type { Outcome } from "../../../../src/http/message.ts";
import { TestServer } from "../../../harness/servers/echo_server.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  data,
  frame,
  GET,
  headers,
  Http2Client,
  POST,
  settings,
  uint32,
} from "../../../harness/clients/http2_client.ts";
import {
  MemoryTransport,
  settle,
} from "../../../harness/gateway/memory_transport.ts";
import { HeaderDecoder } from "../../../../src/http/http2/hpack/header_decoder.ts";
import { Http2Session } from "../../../../src/http/http2/http2_session.ts";
import { PREFACE } from "../../../../src/http/http2/frames/http2_protocol.ts";

const { windowUpdate, rstStream, ping, priority } = FRAME_TYPES;
function octets(count: number): Uint8Array {
  return new Uint8Array(count);
}

function times(count: number, ...frames: Uint8Array[]): Uint8Array[] {
  return Array.from({ length: count }, () => frames).flat();
}

const floods: readonly (readonly [string, Uint8Array[]])[] = [
  ["PING", times(1001, frame(ping, 0, 0, octets(8)))],
  ["answers to PING", times(1001, frame(ping, 1, 0, octets(8)))],
  ["SETTINGS", times(1001, settings())],
  ["acknowledgements of settings", times(1001, frame(4, 1, 0))],
  [
    "changes of the window for new streams",
    times(
      501,
      settings([SETTINGS.initialWindowSize, 0]),
      settings([SETTINGS.initialWindowSize, 1]),
    ),
  ],
  ["PRIORITY", times(1001, frame(priority, 0, 3, octets(5)))],
  ["frames of unknown type", times(1001, frame(99, 0, 0))],
  ["WINDOW_UPDATE", times(1001, frame(windowUpdate, 0, 0, uint32(1)))],
  ["empty DATA", [headers(1, POST, false), ...times(1020, data(1, "", false))]],
  ["DATA of padding alone", [
    headers(1, POST, false),
    ...times(1020, frame(0, FRAME_FLAGS.padded, 1, [0])),
  ]],
  [
    "malformed requests",
    Array.from(
      { length: 201 },
      (_, i) => headers(2 * i + 1, [...GET, ["te", "gzip"]]),
    ),
  ],
  ["errors of streams", [
    ...Array.from({ length: 201 }, (_, i) => [
      headers(2 * i + 1, POST, false),
      frame(windowUpdate, 0, 2 * i + 1, octets(4)),
    ]).flat(),
  ]],
  [
    "requests that are taken back",
    Array.from({ length: 201 }, (_, i) => [
      headers(2 * i + 1, GET),
      frame(rstStream, 0, 2 * i + 1, uint32(ERROR_CODES.cancel)),
    ]).flat(),
  ],
];
for (const [name, frames] of floods) {
  Deno.test(`HttpServer disconnects an HTTP/2 client that floods it with ${name}, and handles little of it`, async () => {
    let handled = 0;
    await using test = await TestServer.start({
      handler: () => {
        handled++;
        return new Promise(() => {});
      },
    });
    using client = await Http2Client.connect(test.port);

    const sending = client.send(...frames).catch(() => {});
    for (let verdict = ""; verdict !== "goaway 11";) {
      verdict = await client.verdict();
      assert.notEqual(verdict, "closed");
    }
    await sending;

    // The end of what was read at once may be a request whose reset comes with the next read.
    assert(handled < 10, `${handled}`);
  });
}

Deno.test("HttpServer keeps no more requests of an HTTP/2 client busy than it may send at a time, taken back or not", async () => {
  let handled = 0;
  await using test = await TestServer.start({
    handler: () => {
      handled++;
      return new Promise(() => {});
    },
    limits: { maxConcurrentStreams: 10 },
  });
  using client = await Http2Client.connect(test.port);

  for (let stream = 1; stream < 101; stream += 2) {
    await client.send(headers(stream, GET));
    await client.send(frame(ping, 0, 0, octets(8)));
    await client.receive(ping);
    await client.send(frame(rstStream, 0, stream, uint32(8)));
  }

  assert.equal(handled, 10);
});

Deno.test("HttpServer does not read answers for HTTP/2 clients that do not read theirs", async () => {
  let produced = 0;
  const chunk = new Uint8Array(64 * 1024);
  await using test = await TestServer.start({
    handler: () => {
      const body: Body = {
        length: undefined,
        trailers: undefined,
        read: () => (produced += chunk.length, chunk),
        cancel: () => {},
      };
      const headers = new HeaderList();
      return { response: { status: 200, headers, body }, finished: () => {} };
    },
  });
  using client = await Http2Client.connect(test.port);
  const largest = 0x7fff_ffff;

  await client.send(
    settings([SETTINGS.initialWindowSize, largest]),
    frame(windowUpdate, 0, 0, uint32(largest - 65_535)),
    ...Array.from({ length: 100 }, (_, i) => headers(2 * i + 1, GET)),
  );
  for (let before = -1; before !== produced || produced === 0;) {
    before = produced;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }

  // Room for the buffers of the system, and one chunk for each request.
  assert(produced < 24 * 1024 * 1024, `${produced}`);
});

Deno.test("HttpServer holds no more of HTTP/2 uploads than the windows that nobody reads from", async () => {
  await using test = await TestServer.start({
    handler: () => new Promise(() => {}),
  });
  using client = await Http2Client.connect(test.port);
  const part = data(1, "x".repeat(16_384), false).subarray(9);
  const flood: Uint8Array[] = [];
  for (let stream = 1; stream < 35; stream += 2) {
    flood.push(headers(stream, POST, false));
    for (let i = 0; i < 8; i++) flood.push(frame(0, 0, stream, part));
  }

  // 17 streams fill their windows; together they exceed that of the connection.
  const sending = client.send(...flood).catch(() => {});

  assert.equal(
    await client.verdict(),
    `goaway ${ERROR_CODES.flowControlError}`,
  );
  await sending;
});

Deno.test("Http2Session holds little for a peer that does not read, whatever it requests", async () => {
  const transport = new MemoryTransport();
  const blocked = Promise.withResolvers<void>();
  transport.writable = blocked.promise;
  let time = 0;
  const session = new Http2Session(transport, {
    isServer: true,
    limits: { maxBytes: 1024, maxFields: 20 },
    maxStreams: 10,
    streamWindow: 65_535,
    connectionWindow: 65_535,
    maxResets: () => 100,
    // So that no flood is counted.
    now: () => time += 60_000,
  }, {
    streamOpened: () => {},
    batchHandled: () => {},
    settingsReceived: () => {},
    goAwayReceived: () => {},
    goAwayHeard: () => {},
    ending: () => {},
    failed: (error) => assert.fail(String(error)),
  });
  const ended = session.run();
  transport.give(PREFACE + latin1(settings()));
  await settle();

  // Each request would make up for ten more pings.
  for (let stream = 1; stream < 20_000; stream += 2) {
    transport.give(latin1(headers(stream, GET)));
    transport.give(latin1(frame(rstStream, 0, stream, uint32(8))));
    transport.give(latin1(...times(9, frame(ping, 0, 0, octets(8)))));
    await settle();
    if (session.isEnding) break;
  }

  assert.match(String(session.error?.message), /unread replies/);
  blocked.resolve();
  transport.end();
  await ended;
});

Deno.test("HttpServer disconnects HTTP/2 clients that are late", async (t) => {
  const cases: readonly (readonly [string, Uint8Array[], string, number])[] = [
    [
      "with their preface",
      [Buffer.from("PRI * HTTP/2.0\r\n\r\n")],
      "settings timeout",
      12_000,
    ],
    [
      "with the rest of a header block",
      [
        Buffer.from(PREFACE),
        settings(),
        frame(4, 1, 0),
        frame(1, 0, 1),
      ],
      "request timeout",
      20_000,
    ],
    [
      "with the acknowledgement of settings",
      [Buffer.from(PREFACE), settings()],
      "settings timeout",
      12_000,
    ],
    [
      "with a request",
      [Buffer.from(PREFACE), settings(), frame(4, 1, 0)],
      "idle timeout",
      78_000,
    ],
  ];
  for (const [name, frames, reason, ms] of cases) {
    await t.step(name, async () => {
      const clock = new FakeClock();
      await using test = await TestServer.start({ clock });
      using client = new Http2Client(
        await Deno.connect({ hostname: "127.0.0.1", port: test.port }),
      );
      await client.send(...frames);
      await client.next();

      for (let passed = 0; passed < ms; passed += 500) {
        clock.advance(500);
        await settle();
      }
      await client.closed();
      client.close();

      await test.saw(`closed: ${reason}`);
    });
  }
});

Deno.test("HttpServer gives up on an HTTP/2 client that makes no room for its response, and on no other stream", async () => {
  const clock = new FakeClock();
  const outcome = Promise.withResolvers<Outcome>();
  await using test = await TestServer.start({
    clock,
    handler: ({ target }) => {
      const size = target === "/large" ? 100_000 : 10;
      let chunk: Uint8Array | undefined = new Uint8Array(size);
      const body: Body = {
        length: size,
        trailers: undefined,
        read: () => {
          const next = chunk;
          chunk = undefined;
          return next;
        },
        cancel: () => {},
      };
      const headers = new HeaderList();
      const finished = target === "/large" ? outcome.resolve : () => {};
      return { response: { status: 200, headers, body }, finished };
    },
  });
  using client = await Http2Client.connect(test.port);
  const large = GET.map(([name, value]): [string, string] => [
    name,
    name === ":path" ? "/large" : value,
  ]);
  await client.send(frame(windowUpdate, 0, 0, uint32(1_000_000)));
  await client.send(headers(1, large));
  await client.receive(FRAME_TYPES.headers, 1);

  for (let passed = 0; passed < 65_000; passed += 500) {
    clock.advance(500);
    await settle();
  }

  assert.equal(await client.verdict(), `reset 1 ${ERROR_CODES.cancel}`);
  assert.match(String((await outcome.promise).error), /does not read/);
  await client.send(headers(3, GET));
  const { payload } = await client.receive(FRAME_TYPES.headers, 3);
  const limits = { maxBytes: 1000, maxFields: 10 };
  const [, status] =
    new HeaderDecoder().decode(payload, 0, payload.length, limits).fields;
  assert.equal(status, "200");
});

function latin1(...frames: readonly Uint8Array[]): string {
  return Buffer.concat(frames).toString("latin1");
}
