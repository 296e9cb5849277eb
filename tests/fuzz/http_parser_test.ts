import assert from "node:assert/strict";
import { FramedBody } from "../../src/http/http1/framed_body.ts";
import { requestFraming } from "../../src/http/http1/framing.ts";
import { parseRequestHead } from "../../src/http/http1/head_parser.ts";
import { InputBuffer } from "../../src/http/http1/input_buffer.ts";
import {
  locateHead,
  skipEmptyLine,
} from "../../src/http/server/http1/head_locator.ts";
import { REQUEST_CASES } from "../fixtures/http/requests.ts";
import { readText } from "../harness/servers/echo_server.ts";
import {
  type ParsedMessage,
  type ParsedStream,
  parseWithLlhttp,
} from "../harness/parsers/llhttp_requests.ts";
import { MemoryTransport } from "../harness/gateway/memory_transport.ts";
import { mutatedRequests } from "../harness/clients/mutated_requests.ts";
import { createRandom } from "../harness/clients/mutations.ts";

/**
 * Accepted differences, where llhttp is stricter.
 *
 * - It knows a fixed list of methods; a gateway passes any token on.
 * - It has opinions on the target; ours come with the request's authority, behind the parser.
 * - It rejects HTTP/1.2 to HTTP/1.9, which RFC 9110 section 2.5 has recipients process as HTTP/1.1.
 * - It refuses a tab behind the number in Content-Length, which is white space to RFC 9110 as anywhere else.
 */
const STRICTER_ON_PURPOSE = [
  "HPE_INVALID_METHOD",
  "HPE_INVALID_URL",
  "HPE_INVALID_CONTENT_LENGTH",
  "HPE_INVALID_VERSION",
];

/** Reads requests until the bytes end or we refuse them. */
async function parseWithOurs(text: string): Promise<ParsedStream> {
  const transport = new MemoryTransport();
  transport.give(text);
  transport.end();
  const input = new InputBuffer(transport);
  while (await input.fill());
  const messages: ParsedMessage[] = [];
  try {
    for (;;) {
      skipEmptyLine(input);
      const headEnd = locateHead(input, 0, 1_000_000);
      if (headEnd < 0) return { messages, error: undefined };
      const head = parseRequestHead(input.bytes, input.start, headEnd);
      input.start = headEnd;
      const framing = requestFraming(head.headers, head.minorVersion);
      const message: ParsedMessage = {
        method: head.method,
        target: head.target,
        headers: [...head.headers].map(([name, value]) => [name, value]),
        body: "",
        complete: false,
      };
      messages.push(message);
      const body = bodyOf(input, framing);
      message.body = await readText(body);
      // llhttp does not tell trailers from headers.
      for (const [name, value] of body.trailers ?? []) {
        message.headers.push([name, value]);
      }
      message.complete = true;
      const isLast = head.minorVersion === 0 || head.headers.has("connection");
      if (isLast) return { messages, error: undefined };
    }
  } catch (error) {
    return { messages, error: String(error) };
  }
}

function bodyOf(input: InputBuffer, framing: number | "chunked"): FramedBody {
  return new FramedBody(input, framing, {
    waitingForBody: () => {},
    bodyEnded: () => {},
    bodyAbandoned: () => {},
    translateBodyError: (error) =>
      error instanceof Error ? error : new Error(String(error)),
  }, 1_000_000);
}

/** Checks that llhttp reads a request in the same way as the gateway. */
async function compare(text: string): Promise<number> {
  const ours = await parseWithOurs(text);
  const theirs = parseWithLlhttp(text);
  const read = ours.messages.filter(({ complete }) => complete);
  for (const [index, message] of read.entries()) {
    const other = theirs.messages[index];
    const isOpinion = STRICTER_ON_PURPOSE.includes(theirs.error ?? "");
    if (isOpinion && other?.complete !== true) break;
    assert.deepEqual(other, message, JSON.stringify(text));
  }
  return read.length;
}

Deno.test("the request parser accepts nothing that llhttp rejects, among the odd requests", async () => {
  for (const { name, bytes } of REQUEST_CASES) {
    if (/upgrade/.test(name)) continue;
    await compare(bytes);
  }
});

Deno.test("the request parser reads mutated requests as llhttp does", async () => {
  const random = createRandom(20260101);
  let read = 0;

  for (let i = 0; i < 20_000; i++) {
    read += await compare(mutatedRequests(random));
  }

  assert.ok(read > 5_000, `only ${read} requests were read at all`);
});
