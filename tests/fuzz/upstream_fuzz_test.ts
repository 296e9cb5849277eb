import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Cancellation } from "../../src/base/cancellation.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { ResponseHeadReader } from "../../src/http/client/http1/response_head_reader.ts";
import { FramedBody } from "../../src/http/http1/framed_body.ts";
import { responseFraming } from "../../src/http/http1/framing.ts";
import { HttpSyntaxError } from "../../src/http/http1/http_syntax_error.ts";
import { InputBuffer } from "../../src/http/http1/input_buffer.ts";
import { loadLlhttp, type ParsedResponse } from "../harness/parsers/llhttp.ts";
import { createRandom, mutate } from "../harness/clients/mutations.ts";
import { answer, RawUpstream } from "../harness/clients/raw_upstream.ts";
import {
  exchange,
  readText,
  send,
  upstreamAt,
} from "../harness/clients/upstream_requests.ts";

const SEED = Number(Deno.env.get("FUZZ_SEED") ?? 20251125);
const CASES = Number(Deno.env.get("FUZZ_CASES") ?? 1000);

/** Accepted differences: llhttp rejects chunk extensions, which the gateway drops, and interim responses that end the connection. */
const STRICTER =
  /chunk extensions|Upgrade|Data after `Connection: close`|Invalid HTTP version/;

/** Blanks that may stand there (RFC 9112 section 5.1), but confuse llhttp. */
const BLANK_BEHIND_FRAMING = /(chunked|\d)[ \t]+\r\n/i;

const CORPUS = [
  answer("hello"),
  answer("", "Connection: close"),
  answer("abc", "Keep-Alive: timeout=5", "Set-Cookie: a=1", "Set-Cookie: b=2"),
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n",
  "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n" + answer("after"),
  "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end",
  "HTTP/1.1 503 \r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy",
];

Deno.test("Upstream survives mutated responses and gives the next request its own answer", async () => {
  const random = createRandom(SEED);
  const cases = Array.from({ length: CASES }, () => mutant(random));
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      const [, kind, index] = /^GET \/(\w+)\/(\d+)/.exec(request) ?? [];
      if (kind === "good") {
        await connection.send(answer(`good ${index}`));
        continue;
      }
      await connection.send(cases[Number(index)] ?? "");
      if (Number(index) % 2 === 0) return;
    }
  });
  using upstream = upstreamAt(server.port);

  for (const index of cases.keys()) {
    await provoke(index);
    const good = await exchange(upstream, { target: `/good/${index}` });
    assert.equal(good, `200 good ${index}`, `Seed ${SEED}, case ${index}`);
  }

  assert.equal(upstream.stats.active, 0);

  /** Asks for the mutant; what can neither succeed nor fail, because more would have to come, is cancelled. */
  async function provoke(index: number): Promise<void> {
    const cancellation = new Cancellation();
    const timer = setTimeout(() => cancellation.cancel("stuck"), 5);
    try {
      const target = `/bad/${index}`;
      const response = await send(
        upstream,
        { target },
        undefined,
        cancellation,
      );
      await readText(response.body);
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
    } finally {
      clearTimeout(timer);
    }
  }
});

Deno.test("Upstream reads no response otherwise than llhttp", async () => {
  const random = createRandom(SEED);
  const llhttp = await loadLlhttp();
  let accepted = 0;
  for (let index = 0; index < CASES * 10; index++) {
    const text = mutant(random);
    if (BLANK_BEHIND_FRAMING.test(text)) continue;
    const ours = await parse(text);
    if (ours === undefined) continue;
    accepted++;
    const theirs = llhttp.parse(Buffer.from(text, "latin1"));
    const where = `Seed ${SEED}: ${JSON.stringify(text)}`;
    if (typeof theirs === "string") assert.match(theirs, STRICTER, where);
    else assert.deepEqual(ours, trimmed(theirs), where);
  }
  assert.ok(accepted > CASES, `Only ${accepted} were accepted`);
});

function mutant(random: () => number): string {
  return mutate(CORPUS[Math.floor(random() * CORPUS.length)] ?? "", random);
}

/** Returns the gateway's reading of the response to a GET; `undefined` when it rejects it. */
async function parse(text: string): Promise<ParsedResponse | undefined> {
  const input = new InputBuffer(transportOf(Buffer.from(text, "latin1")));
  const reader = new ResponseHeadReader(input);
  try {
    let head = reader.take();
    while (head === undefined || head.status < 200) {
      if (head === undefined) reader.filled(await input.fill());
      head = reader.take();
    }
    const { status, headers, minorVersion } = head;
    const framing = responseFraming(headers, status, "GET", minorVersion);
    const body = new FramedBody(input, framing, patientOwner, 64 * 1024);
    const bytes = await readLatin1(body);
    const fields = [...headers, ...body.trailers ?? []];
    return { status, fields, body: bytes };
  } catch (error) {
    const expected = error instanceof HttpSyntaxError ||
      error instanceof Deno.errors.UnexpectedEof;
    if (!expected) throw error;
    return undefined;
  }
}

/** llhttp leaves the blanks behind a value to its callers. */
function trimmed(response: ParsedResponse): ParsedResponse {
  const fields = response.fields.map(([name, value]) =>
    [name, value.replace(/[ \t]+$/, "")] as const
  );
  return { ...response, fields };
}

const patientOwner = {
  waitingForBody: () => {},
  bodyEnded: () => {},
  bodyAbandoned: () => {},
  translateBodyError: (error: unknown) => error as Error,
};

async function readLatin1(body: FramedBody): Promise<string> {
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += Buffer.from(chunk).toString("latin1");
  }
  return text;
}

/** Gives all bytes at once, then ends. */
function transportOf(bytes: Uint8Array) {
  let left = bytes;
  return {
    read(into: Uint8Array): Promise<number | null> {
      const count = Math.min(into.length, left.length);
      into.set(left.subarray(0, count));
      left = left.subarray(count);
      return Promise.resolve(count === 0 ? null : count);
    },
    write: () => Promise.reject(new Error("Nothing is written")),
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
}
