import assert from "node:assert/strict";
import {
  createSensitiveHeaders,
  sensitiveParameters,
} from "../../../../src/base/redaction.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  SensitiveNames,
  TraceRedactor,
} from "../../../../src/telemetry/trace/trace_redactor.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";
import { fc } from "../../../harness/parsers/properties.ts";

function createRedactor(
  headers: Readonly<Record<string, string>> = {},
  target = "/",
): TraceRedactor {
  const redactor = new TraceRedactor(
    new SensitiveNames(
      createSensitiveHeaders(["X-Session"]),
      sensitiveParameters,
    ),
  );
  redactor.learn(HeaderList.from(Object.entries(headers)), target);
  return redactor;
}

Deno.test("TraceRedactor shows headers in lower case, repeated ones as a list, and no secrets", () => {
  const fields = HeaderList.from([
    ["Accept", "a"],
    ["ACCEPT", "b"],
    ["Authorization", "Bearer planted"],
    ["x-session", "s"],
    ["__proto__", "c"],
  ]);

  assert.deepEqual(
    Object.entries(createRedactor().headers(fields)),
    Object.entries({
      accept: ["a", "b"],
      authorization: "<redacted>",
      "x-session": "<redacted>",
      ["__proto__"]: "c",
    }),
  );
});

/** As a header list has it: one character for each byte. */
function bytesOf(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

Deno.test("TraceRedactor decodes headers in UTF-8 and leaves others unchanged", () => {
  const fields = HeaderList.from([
    ["x-name", bytesOf("你好 🎉 שלום")],
    ["x-latin", "caf\u00e9"],
    ["x-cut", bytesOf("你").slice(0, 2)],
  ]);
  assert.deepEqual(createRedactor().headers(fields), {
    "x-name": "你好 🎉 שלום",
    "x-latin": "caf\u00e9",
    "x-cut": bytesOf("你").slice(0, 2),
  });
});

Deno.test("TraceRedactor redacts a secret in UTF-8 in a header, a string and a body", () => {
  const secret = "geheim-schlüssel-你好";
  const redactor = createRedactor({ "x-session": bytesOf(secret) });
  const fields = HeaderList.from([["x-copy", bytesOf(`is ${secret}`)]]);
  assert.deepEqual(redactor.headers(fields), { "x-copy": "is <redacted>" });
  assert.equal(redactor.text(`is ${secret}`), "is <redacted>");
  assert.equal(redactor.text(encodeURIComponent(secret)), "<redacted>");
  assert.equal(redactor.body(bytesOf(`is ${secret}`)), "is <redacted>");
});

const targets: readonly (readonly [target: string, shown: string])[] = [
  ["/a?token=x&b=1", "/a?token=<redacted>&b=1"],
  ["/a?b=1&Access_Token=", "/a?b=1&Access_Token=<redacted>"],
  ["/a?%74oken=x", "/a?%74oken=<redacted>"],
  ["/a?tokens=x&monkey=y", "/a?tokens=x&monkey=y"],
  [
    "/a?sig=a%2Fb&x-amz-signature=c",
    "/a?sig=<redacted>&x-amz-signature=<redacted>",
  ],
  ["/a?token", "/a?token"],
  [
    "/login?next=http://anna:pw@host/",
    "/login?next=http://<redacted>@host/",
  ],
  ["/a?next=/b?token=x", "/a?next=/b?token=<redacted>"],
];
for (const [target, shown] of targets) {
  Deno.test(`TraceRedactor shows ${target} as ${shown}`, () => {
    assert.equal(createRedactor().target(target), shown);
  });
}

Deno.test("TraceRedactor redacts the signature of a JWT anywhere, and not its claims", () => {
  const token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";

  assert.equal(
    createRedactor().text(`was ${token}, then`),
    "was eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.<redacted>, then",
  );
});

Deno.test("TraceRedactor redacts a key that a browser sends as a subprotocol, and not the other subprotocols", () => {
  assert.equal(
    createRedactor().text(
      "realtime, openai-insecure-api-key.sk-a, openai-beta.realtime-v1",
    ),
    "realtime, openai-insecure-api-key.<redacted>, openai-beta.realtime-v1",
  );
});

Deno.test("TraceRedactor redacts the parts of credentials separately", () => {
  const redactor = createRedactor({
    authorization: `Basic ${btoa("anna:planted-1")}`,
    cookie: 'a=planted-2; b="planted-3"',
    "proxy-authorization": "Bearer planted-4",
  }, "/?api_key=planted%2D5");

  assert.equal(
    redactor.text(
      "planted-1 planted-2 planted-3 planted-4 planted-5 planted-6",
    ),
    "<redacted> <redacted> <redacted> <redacted> <redacted> planted-6",
  );
});

Deno.test("TraceRedactor redacts a secret in a URL", () => {
  const redactor = createRedactor({ "x-session": "s3cr3t/val+ue=" });

  assert.equal(
    redactor.target("/v2?id=s3cr3t%2Fval%2Bue%3D&a=b"),
    "/v2?id=<redacted>&a=b",
  );
});

Deno.test("TraceRedactor does not redact short secrets by value", () => {
  assert.equal(createRedactor({ "x-session": "GET" }).text("GET /"), "GET /");
});

Deno.test("TraceRedactor keeps the type of an event that equals a secret", () => {
  const redactor = createRedactor({ "x-session": "policy" });

  assert.deepEqual(
    redactor.json({ type: "policy", details: ["policy", 1, null] }),
    { type: "policy", details: ["<redacted>", 1, null] },
  );
});

Deno.test("TraceRedactor redacts JSON members in a body that hold secrets", () => {
  assert.equal(
    createRedactor().body(
      '{"access_token":"a\\"b","expires_in":1,"code":"E1","Password" : "x',
    ),
    '{"access_token":"<redacted>","expires_in":1,"code":"E1","Password" : "<redacted>"',
  );
});

Deno.test("TraceRedactor redacts a learned secret in any context", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 6, unit: "grapheme-ascii" }).filter((secret) =>
        secret.trim() === secret && !"<redacted>".includes(secret)
      ),
      fc.string(),
      fc.string(),
      (secret, before, after) => {
        const redactor = createRedactor({ "x-session": secret });
        const shown = redactor.text(before + secret + after);
        assert.ok(!shown.includes(secret) || "<redacted>".includes(secret));
      },
    ),
  );
});

Deno.test("TraceRedactor takes linear time for hostile strings", () => {
  const redactor = createRedactor();
  for (const part of ["eyJ-", "eyJaa.", "://a", "?token=", '"secret":"\\']) {
    const took = processorTime(() => redactor.body(part.repeat(20_000)));
    assert.ok(took < 1000, `${part}: ${took} ms`);
  }
});
