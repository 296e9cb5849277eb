import assert from "node:assert/strict";
import { describeError } from "../../../../src/base/errors.ts";
import {
  answer,
  RawUpstream,
  type Script,
} from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

interface Fault {
  readonly name: string;
  /** Bytes that the upstream writes after the request, before it closes. */
  readonly pieces: readonly string[];
  readonly error: readonly [code: string, text: RegExp];
}

const CLOSED = "upstream_closed";
const PROTOCOL = "upstream_protocol_error";
const HEAD = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const INTERIM = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

const faults: readonly Fault[] = [
  {
    name: "closes before a response",
    pieces: [],
    error: [CLOSED, /No response from "127\.0\.0\.1:\d+": .*closed before/],
  },
  {
    name: "closes inside the status line",
    pieces: ["HTTP/1."],
    error: [CLOSED, /inside the head/],
  },
  {
    name: "closes inside the head",
    pieces: [`${HEAD}Content-`],
    error: [CLOSED, /inside the head/],
  },
  {
    name: "closes after 100",
    pieces: ["HTTP/1.1 100 Continue\r\n\r\n"],
    error: [CLOSED, /inside the head/],
  },
  {
    name: "closes inside a body of known length",
    pieces: [`${HEAD}Content-Length: 10\r\n\r\n`, "abc"],
    error: [CLOSED, /closed inside it/],
  },
  {
    name: "closes inside a chunk",
    pieces: [CHUNKED + "5\r\nab"],
    error: [CLOSED, /closed inside it/],
  },
  {
    name: "closes before the last chunk",
    pieces: [CHUNKED + "2\r\nab\r\n"],
    error: [CLOSED, /closed inside it/],
  },
  {
    name: "closes inside the trailers",
    pieces: [CHUNKED + "0\r\nX-A: 1\r\n"],
    error: [CLOSED, /closed inside it/],
  },
  {
    name: "sends garbage",
    pieces: ["\x16\x03\x01\x02\x00nonsense\r\n\r\n"],
    error: [PROTOCOL, /HTTP version/],
  },
  {
    name: "speaks another protocol",
    pieces: ["SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    error: [PROTOCOL, /HTTP version/],
  },
  {
    name: "speaks HTTP/2",
    pieces: ["HTTP/2.0 200 OK\r\n\r\n"],
    error: [PROTOCOL, /HTTP version not supported/],
  },
  {
    name: "sends a status of two digits",
    pieces: ["HTTP/1.1 20 OK\r\n\r\n"],
    error: [PROTOCOL, /status code/],
  },
  {
    name: "sends a header line without a colon",
    pieces: [`${HEAD}Nonsense\r\n\r\n`],
    error: [PROTOCOL, /header name/],
  },
  {
    name: "sends a space before a colon",
    pieces: [`${HEAD}Content-Length : 2\r\n\r\nok`],
    error: [PROTOCOL, /header name/],
  },
  {
    name: "folds a header line",
    pieces: [`${HEAD}X-A: 1\r\n  2\r\nContent-Length: 0\r\n\r\n`],
    error: [PROTOCOL, /header name/],
  },
  {
    name: "sends a NUL in a header",
    pieces: [`${HEAD}X-A: 1\x002\r\n\r\n`],
    error: [PROTOCOL, /control character/],
  },
  {
    name: "ends lines with LF only",
    pieces: ["HTTP/1.1 200 OK\nContent-Length: 2\n\nok\r\n\r\n"],
    error: [PROTOCOL, /status line/],
  },
  {
    name: "sends a head that is too large",
    pieces: [`${HEAD}X-A: ${"a".repeat(66_000)}\r\n\r\n`],
    error: [PROTOCOL, /head is too large/],
  },
  {
    name: "sends a head that never ends",
    pieces: [`${HEAD}X-A: ${"a".repeat(66_000)}`],
    error: [PROTOCOL, /head is too large/],
  },
  {
    name: "sends too many header fields",
    pieces: [`${HEAD}${"A: b\r\n".repeat(257)}\r\n`],
    error: [PROTOCOL, /head is too large/],
  },
  {
    name: "sends two lengths",
    pieces: [`${HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
    error: [PROTOCOL, /two Content-Length/],
  },
  {
    name: "sends a negative length",
    pieces: [`${HEAD}Content-Length: -2\r\n\r\nok`],
    error: [PROTOCOL, /Content-Length: expected digits/],
  },
  {
    name: "sends a length and chunks",
    pieces: [
      `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    error: [PROTOCOL, /combination/],
  },
  {
    name: "sends an unknown transfer coding",
    pieces: [`${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    error: [PROTOCOL, /expected "chunked"/],
  },
  {
    name: "sends chunks in HTTP/1.0",
    pieces: ["HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    error: [PROTOCOL, /combination/],
  },
  {
    name: "sends a chunk size that is not a number",
    pieces: [CHUNKED + "xyz\r\nab\r\n0\r\n\r\n"],
    error: [PROTOCOL, /not a hexadecimal number/],
  },
  {
    name: "sends a chunk that is longer than its size",
    pieces: [CHUNKED + "2\r\nabc\r\n0\r\n\r\n"],
    error: [PROTOCOL, /longer than its size/],
  },
  {
    name: "sends a chunk of absurd size",
    pieces: [CHUNKED + "ffffffffffffffff\r\nab\r\n0\r\n\r\n"],
    error: [PROTOCOL, /too large/],
  },
  {
    name: "sends a chunk extension without end",
    pieces: [CHUNKED + "2;" + "a".repeat(2000)],
    error: [PROTOCOL, /size line is too long/],
  },
  {
    name: "sends malformed trailers",
    pieces: [CHUNKED + "0\r\nnonsense\r\n\r\n"],
    error: [PROTOCOL, /header name/],
  },
  {
    name: "sends a length in the trailers",
    pieces: [CHUNKED + "0\r\nContent-Length: 3\r\n\r\n"],
    error: [PROTOCOL, /framing fields in trailers/],
  },
  {
    name: "sends 1000 interim responses",
    pieces: [INTERIM.repeat(1000) + answer()],
    error: [PROTOCOL, /Too many interim responses/],
  },
  {
    name: "switches protocols without a request",
    pieces: [
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    ],
    error: [PROTOCOL, /without a request to upgrade/],
  },
];

for (const { name, pieces, error } of faults) {
  Deno.test(`Upstream fails the request when the peer ${name}`, async () => {
    await using server = new RawUpstream(firstThen(pieces));
    using upstream = upstreamAt(server.port);

    const failure = await failureOf(exchange(upstream, { method: "POST" }));

    assert.equal(failure.code, error[0]);
    assert.equal(failure.source, "upstream");
    assert.match(describeError(failure), error[1]);
    assert.match(failure.message, new RegExp(`127\\.0\\.0\\.1:${server.port}`));
    assert.equal(await exchange(upstream), "200 next");
  });
}

for (
  const [name, pieces, reason] of [
    [
      "speaks another protocol",
      ["220 mail.example.com ready\r\n"],
      /does not begin with HTTP/,
    ],
    [
      "speaks HTTP/2 only",
      ["\0\0\0\x04\0\0\0\0\0"],
      /does not begin with HTTP/,
    ],
    ["begins with another letter", ["H", "e"], /does not begin with HTTP/],
    ["ends lines without CR", [`${HEAD}A: b\n\n`], /ends without CR/],
    ["ends a line without CR later", [HEAD, "A: b", "\n"], /ends without CR/],
    ["begins with an empty line", ["\n"], /does not begin with HTTP/],
  ] as const
) {
  Deno.test(`Upstream fails the request immediately when the peer ${name} and keeps the connection open`, async () => {
    await using server = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(...pieces);
      await connection.closedByPeer();
    });
    using upstream = upstreamAt(server.port);

    const failure = await failureOf(exchange(upstream));

    assert.equal(failure.code, PROTOCOL);
    assert.match(describeError(failure), reason);
  });
}

Deno.test("Upstream fails the request when the connection is reset", async () => {
  await using server = new RawUpstream(async (connection, index) => {
    if (index === 0) return await connection.reset();
    await connection.request();
    await connection.send(answer("next"));
  });
  using upstream = upstreamAt(server.port);

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_closed");
  assert.equal(await exchange(upstream), "200 next");
});

Deno.test("Upstream reads a response that arrives byte by byte", async () => {
  const bytes = `${INTERIM}${CHUNKED}3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`;
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(...bytes);
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port);

  assert.equal(await exchange(upstream), "200 abc");
});

/** Sends the pieces on the first connection, a valid response on the others. */
function firstThen(pieces: readonly string[]): Script {
  return async (connection, index) => {
    await connection.request();
    if (index > 0) return await connection.send(answer("next"));
    await connection.send(...pieces);
  };
}
