import assert from "node:assert/strict";
import {
  createSensitiveHeaders,
  hideCompared,
  redactUrl,
} from "../../../src/base/redaction.ts";

Deno.test("createSensitiveHeaders adds configured names in any case to the built-in ones", () => {
  const sensitive = createSensitiveHeaders(["X-Session"]);

  assert.deepEqual([...sensitive].sort(), [
    "api-key",
    "authorization",
    "cookie",
    "ocp-apim-subscription-key",
    "proxy-authorization",
    "sec-websocket-protocol",
    "set-cookie",
    "x-access-token",
    "x-amz-security-token",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
    "x-goog-api-key",
    "x-session",
    "x-xsrf-token",
  ]);
});

const urls = [
  { url: "https://kv.example/db?v=2#a", shown: "https://kv.example/db?v=2#a" },
  {
    url: "https://me:pass@kv.example/db@2",
    shown: "https://<redacted>@kv.example/db@2",
  },
  {
    url: "https://me@kv.example?page=1&Token=abc&sig=d#e",
    shown:
      "https://<redacted>@kv.example?page=1&Token=<redacted>&sig=<redacted>#e",
  },
  { url: "not a URL", shown: "not a URL" },
];
for (const { url, shown } of urls) {
  Deno.test(`redactUrl shows ${url} without secrets`, () => {
    assert.equal(redactUrl(url), shown);
  });
}

for (
  const [expression, shown] of [
    [
      "request.headers['X-Api-Key'] == 'secret\\'1' || jwt.sub == \"secret\"",
      "request.headers['X-Api-Key'] == '<redacted>' || jwt.sub == '<redacted>'",
    ],
    [
      'request . headers [ "cookie" ] != """se"cret"""',
      "request . headers [ \"cookie\" ] != '<redacted>'",
    ],
    [
      "request.headers.cookie.split('; ') in ['secret']",
      "request.headers.cookie.split('; ') in ['<redacted>']",
    ],
    [
      "request.headers['x-team'] == 'secret'",
      "request.headers['x-team'] == 'secret'",
    ],
  ] as const
) {
  Deno.test(`hideCompared shows ${expression} as ${shown}`, () => {
    assert.equal(hideCompared(expression), shown);
  });
}
