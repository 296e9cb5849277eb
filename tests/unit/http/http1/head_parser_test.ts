import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  findHeadEnd,
  parseRequestHead,
  parseResponseHead,
  parseTrailers,
} from "../../../../src/http/http1/head_parser.ts";

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

Deno.test("findHeadEnd finds the end regardless of where the search resumes", () => {
  const bytes = bytesOf("GET / HTTP/1.1\r\nHost: a\r\n\r\nrest");
  const end = bytes.indexOf("rest");

  for (let arrived = 1; arrived <= end; arrived++) {
    const searched = arrived - 1;
    const found = findHeadEnd(bytes, Math.max(0, searched - 3), arrived);
    assert.equal(found, arrived < end ? -1 : end);
  }
  assert.equal(findHeadEnd(bytes, 0, bytes.length), end);
});

Deno.test("findHeadEnd finds the first empty line in any bytes", () => {
  for (let seed = 0; seed < 3 ** 8; seed++) {
    const text = seed.toString(3).padStart(8, "0")
      .replaceAll(/./g, (digit) => ["a", "\r", "\n"][Number(digit)] ?? "");
    const start = text.indexOf("\n\r\n");
    const found = findHeadEnd(Buffer.from(text), 0, text.length);
    assert.equal(found, start < 0 ? -1 : start + 3, JSON.stringify(text));
  }
});

Deno.test("parseRequestHead parses a head in the middle of a buffer", () => {
  const text = "PUT /a?b HTTP/1.0\r\nHost: a\r\nX-Y:\t z \r\n\r\n";
  const bytes = bytesOf(`before${text}after`);

  const head = parseRequestHead(bytes, 6, 6 + text.length);

  assert.equal(head.method, "PUT");
  assert.equal(head.target, "/a?b");
  assert.equal(head.minorVersion, 0);
  assert.deepEqual([...head.headers], [["Host", "a"], ["X-Y", "z"]]);
});

Deno.test("parseResponseHead parses status lines", async (t) => {
  const cases: readonly [string, number | undefined][] = [
    ["HTTP/1.1 200 OK", 200],
    ["HTTP/1.0 404 Not Found", 404],
    ["HTTP/1.1 200 ", 200],
    ["HTTP/1.1 200", 200],
    ["HTTP/1.1 299 \xe9 reason", 299],
    ["HTTP/1.1 20 OK", undefined],
    ["HTTP/1.1 2000 OK", undefined],
    ["HTTP/1.1 099 OK", undefined],
    ["HTTP/1.1  200 OK", undefined],
    ["HTTP/1.1 200\tOK", undefined],
    ["HTTP/1.1 +20 OK", undefined],
    ["HTTP/1.2 200 OK", 200],
    ["HTTP/2.0 200 OK", undefined],
    ["HTTP/1.1 200 O\0K", undefined],
    ["ICY 200 OK", undefined],
  ];
  for (const [line, status] of cases) {
    await t.step(JSON.stringify(line), () => {
      const bytes = bytesOf(line + "\r\nA: b\r\n\r\n");
      const parse = () => parseResponseHead(bytes, 0, bytes.length);
      if (status === undefined) assert.throws(parse, /^HttpSyntaxError/);
      else assert.equal(parse().status, status);
    });
  }
});

Deno.test("parseTrailers drops hop-by-hop fields", () => {
  const bytes = Buffer.from(
    "TE: x\r\nConnection: X-A\r\nX-A: 1\r\nX-B: 2\r\n\r\n",
  );

  const trailers = parseTrailers(bytes, 0, bytes.length);

  assert.deepEqual([...trailers], [["X-B", "2"]]);
});

Deno.test("parseTrailers parses only fields", () => {
  const bytes = bytesOf("X-A: 1\r\nX-B: 2\r\n\r\n");

  const trailers = parseTrailers(bytes, 0, bytes.length);

  assert.deepEqual([...trailers], [["X-A", "1"], ["X-B", "2"]]);
});
