import assert from "node:assert/strict";
import type { Cors } from "../../../../src/api/rules/cors_filter.ts";
import {
  createCors,
  exposedHeaders,
} from "../../../../src/policy/http/cors.ts";
import { context, headersOf, response, responseOf } from "../exchange.ts";

const page = "https://app.example.com";

/** Runs a request through the policy; the answer when it is one of a preflight, else that of an upstream with `upstream` headers. */
async function exchange(
  config: Partial<Cors>,
  request: Parameters<typeof context>[0],
  upstream: Record<string, string> = {},
) {
  const policy = createCors({ maxAge: 5, ...config });
  const on = context(request);
  const verdict = responseOf(await policy.onRequest?.(on));
  const result = verdict ?? response(upstream);
  await policy.onResponse?.(on, result);
  return {
    answered: verdict !== undefined,
    status: result.status,
    headers: headersOf(result),
  };
}

function preflight(origin = page, asked: Record<string, string> = {}) {
  return {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", ...asked },
  };
}

// Gateway API, HTTPCORSFilter.allowOrigins.
const origins: {
  quote: string;
  allow: string[];
  origin: string;
  allowed: boolean;
}[] = [
  ...[
    ["https://app.example.com", "https://app.example.com", true],
    ["https://app.example.com", "http://app.example.com", false],
    ["https://app.example.com", "https://app.example.com.evil.example", false],
    ["https://app.example.com", "https://evil-app.example.com", false],
    ["https://app.example.com", "null", false],
    [
      "https://app.example.com",
      "https://app.example.com, https://evil.example",
      false,
    ],
  ].map(([allow, origin, allowed]) => ({
    quote: "If the request `Origin` matches the configured allowed origins",
    allow: [String(allow)],
    origin: String(origin),
    allowed: allowed === true,
  })),
  ...[
    ["https://*.example.com", "https://a.example.com", true],
    ["https://*.example.com", "https://a.b.example.com", true],
    ["https://*.example.com", "https://example.com", false],
    ["https://*.example.com", "https://badexample.com", false],
    ["https://*.example.com", "http://a.example.com", false],
    ["https://*.example.com", "https://a.example.com:8443", false],
    ["https://*.example.com:8443", "https://a.example.com:8443", true],
    ["https://*.example.com", "https://a.example.com@evil.example", false],
    ["https://*.example.com", "https://evil.example/.example.com", false],
  ].map(([allow, origin, allowed]) => ({
    quote:
      "`*` is a greedy match to the _left_, including any number of DNS labels",
    allow: [String(allow)],
    origin: String(origin),
    allowed: allowed === true,
  })),
  ...[
    ["https://app.example.com", "https://app.example.com:443", true],
    ["http://app.example.com:80", "http://app.example.com", true],
    ["http://localhost:3000", "http://localhost", false],
    ["http://localhost:*", "http://localhost:6274", true],
  ].map(([allow, origin, allowed]) => ({
    quote:
      "if not included, port `80` is assumed for `http` scheme origins, and port `443` […] for `https`",
    allow: [String(allow)],
    origin: String(origin),
    allowed: allowed === true,
  })),
  {
    quote: "A wildcard by itself matches all hosts",
    allow: ["https://*"],
    origin: "https://a.example",
    allowed: true,
  },
];
for (const { quote, allow, origin, allowed } of origins) {
  Deno.test(`CORS for ${allow} ${allowed ? "allows" : "does not allow"} ${origin}: "${quote}"`, async () => {
    const { headers } = await exchange({ allowOrigins: allow }, {
      headers: { origin },
    });
    assert.equal(
      headers["access-control-allow-origin"],
      allowed ? origin : undefined,
    );
    assert.equal(headers.vary, "Origin");
  });
}

Deno.test("CORS answers a preflight itself with everything that is allowed", async () => {
  const config: Partial<Cors> = {
    allowOrigins: [page],
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: ["Authorization", "Mcp-Session-Id"],
    exposeHeaders: ["Mcp-Session-Id", "WWW-Authenticate"],
    allowCredentials: true,
    maxAge: 3600,
  };

  const { answered, status, headers } = await exchange(config, preflight());

  assert.equal(answered, true);
  assert.equal(status, 204);
  assert.deepEqual(headers, {
    "access-control-allow-origin": page,
    "access-control-allow-credentials": "true",
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "Authorization, Mcp-Session-Id",
    "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate",
    "access-control-max-age": "3600",
    vary: "Origin",
  });
});

Deno.test("CORS leaves out what is not configured and says for how long it holds", async () => {
  const { headers } = await exchange({ allowOrigins: [page] }, preflight());
  assert.deepEqual(headers, {
    "access-control-allow-origin": page,
    "access-control-max-age": "5",
    vary: "Origin",
  });
});

Deno.test("CORS answers the preflight of a foreign origin without CORS headers", async () => {
  const { answered, status, headers } = await exchange(
    { allowOrigins: [page], allowMethods: ["POST"] },
    preflight("https://evil.example"),
  );
  assert.equal(answered, true);
  assert.equal(status, 204);
  assert.deepEqual(headers, { vary: "Origin" });
});

Deno.test("CORS lets OPTIONS pass when it is no preflight", async () => {
  const { answered } = await exchange({ allowOrigins: [page] }, {
    method: "OPTIONS",
    headers: { origin: page },
  });
  assert.equal(answered, false);
  const withoutOrigin = await exchange({ allowOrigins: [page] }, {
    method: "OPTIONS",
    headers: { "access-control-request-method": "POST" },
  });
  assert.equal(withoutOrigin.answered, false);
});

Deno.test("CORS replaces the upstream's headers and keeps its Vary", async () => {
  const { headers } = await exchange({ allowOrigins: [page] }, {
    headers: { origin: page },
  }, {
    "access-control-allow-origin": "*",
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "x-internal",
    vary: "Accept-Encoding",
    "x-other": "1",
  });
  assert.deepEqual(headers, {
    "access-control-allow-origin": page,
    vary: "Accept-Encoding, Origin",
    "x-other": "1",
  });
});

Deno.test("CORS removes the upstream's headers for a foreign origin", async () => {
  const { headers } = await exchange(
    { allowOrigins: [page] },
    { headers: { origin: "https://evil.example" } },
    { "access-control-allow-origin": "*" },
  );
  assert.deepEqual(headers, { vary: "Origin" });
});

Deno.test("CORS marks answers without Origin as depending on it", async () => {
  const { headers } = await exchange({ allowOrigins: [page] }, {});
  assert.deepEqual(headers, { vary: "Origin" });
});

const varied = [
  ["*", "*"],
  ["origin", "origin"],
  ["Accept, ORIGIN", "Accept, ORIGIN"],
] as const;
for (const [present, expected] of varied) {
  Deno.test(`CORS does not repeat itself in "Vary: ${present}"`, async () => {
    const { headers } = await exchange({ allowOrigins: [page] }, {}, {
      vary: present,
    });
    assert.equal(headers.vary, expected);
  });
}

Deno.test("CORS with any origin and no credentials gives everybody the same answer", async () => {
  const config = { allowOrigins: ["*"] };
  const expected = { "access-control-allow-origin": "*" };
  assert.deepEqual(
    (await exchange(config, { headers: { origin: page } })).headers,
    expected,
  );
  assert.deepEqual((await exchange(config, {})).headers, expected);
});

Deno.test('CORS with credentials "must not return `*`" but the origin itself', async () => {
  const { headers } = await exchange(
    { allowOrigins: ["*"], allowCredentials: true },
    { headers: { origin: page } },
  );
  assert.deepEqual(headers, {
    "access-control-allow-origin": page,
    "access-control-allow-credentials": "true",
    vary: "Origin",
  });
});

for (const allowCredentials of [true, false]) {
  Deno.test(`CORS answers "*" with what was requested, credentials ${allowCredentials}`, async () => {
    const { headers } = await exchange(
      {
        allowOrigins: [page],
        allowCredentials,
        allowMethods: ["*"],
        allowHeaders: ["*"],
      },
      preflight(page, {
        "access-control-request-headers": "authorization,mcp-session-id",
      }),
    );
    assert.equal(headers["access-control-allow-methods"], "POST");
    assert.equal(
      headers["access-control-allow-headers"],
      "authorization,mcp-session-id",
    );
    assert.equal(
      headers.vary,
      "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    );
  });
}

Deno.test('CORS "must omit the `Access-Control-Allow-Headers` response header" when none are requested', async () => {
  const { headers } = await exchange({
    allowOrigins: [page],
    allowHeaders: ["*"],
  }, preflight());
  assert.equal(headers["access-control-allow-headers"], undefined);
});

Deno.test("CORS exposes every header by name when credentials forbid the wildcard", async () => {
  const { headers } = await exchange(
    { allowOrigins: [page], exposeHeaders: ["*"], allowCredentials: true },
    { headers: { origin: page } },
    { "Mcp-Session-Id": "1", "X-Other": "2" },
  );
  assert.equal(
    headers["access-control-expose-headers"],
    "mcp-session-id, x-other, vary",
  );
});

Deno.test("CORS exposes what the gateway tells clients, where the response has it", async () => {
  const policy = createCors({
    allowOrigins: [page],
    exposeHeaders: ["Mcp-Session-Id", "Retry-After"],
    maxAge: 5,
  });
  const on = context({ headers: { origin: page } });
  on.slots.set(exposedHeaders, [
    "x-ratelimit-reset",
    "retry-after",
    "ratelimit",
  ]);
  const answer = response({ "X-RateLimit-Reset": "3", "Retry-After": "3" });
  await policy.onRequest?.(on);
  await policy.onResponse?.(on, answer);

  assert.equal(
    answer.headers.get("access-control-expose-headers"),
    "Mcp-Session-Id, Retry-After, x-ratelimit-reset",
  );
});

Deno.test("CORS exposes the challenge of a 401, which names the login", async () => {
  const { headers } = await exchange(
    { allowOrigins: [page], exposeHeaders: ["Mcp-Session-Id"] },
    { headers: { origin: page } },
    { "WWW-Authenticate": "Bearer" },
  );
  assert.equal(
    headers["access-control-expose-headers"],
    "Mcp-Session-Id, www-authenticate",
  );
});

Deno.test("CORS exposes the wildcard without credentials", async () => {
  const { headers } = await exchange(
    { allowOrigins: [page], exposeHeaders: ["*"] },
    { headers: { origin: page } },
  );
  assert.equal(headers["access-control-expose-headers"], "*");
});

Deno.test("CORS decorates a rejection, also when a later policy removed the Origin", async () => {
  const policy = createCors({ allowOrigins: [page], maxAge: 5 });
  const on = context({ headers: { origin: page } });
  await policy.onRequest?.(on);
  on.request.headers.delete("origin");
  const rejection = response({ "www-authenticate": "Bearer" }, 401);

  await policy.onResponse?.(on, rejection);

  assert.equal(rejection.headers.get("access-control-allow-origin"), page);
  assert.equal(rejection.headers.get("www-authenticate"), "Bearer");
});

Deno.test("CORS without origins allows none", async () => {
  const { headers } = await exchange({}, { headers: { origin: page } });
  assert.deepEqual(headers, { vary: "Origin" });
});
