import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { fetchRaw, type RawRequest } from "../../harness/clients/fetch_raw.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

const issuer = await createTokenIssuer();

/** Routes that fail in one way each. */
async function startFailing(
  config: Readonly<Record<string, unknown>> = {},
): Promise<TracedGateway> {
  const upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send("HTTP/1.1 507 Full\r\ncontent-length: 0\r\n\r\n");
    }
  });
  const upstreamHost = `127.0.0.1:${upstream.port}`;
  const jwt = {
    jwtAuthentication: {
      providers: [{
        issuer: issuer.issuer,
        audiences: ["https://gw.example/mcp"],
        jwks: { inline: jwksOf(issuer) },
      }],
    },
  };
  const rules = { policy: { matchExpressions: ["'read' in jwt.permissions"] } };
  const gateway = await startTracedGateway({
    config: { limits: { maxBufferBytes: 1024 }, ...config },
    routes: [
      route("failing", upstreamHost, {}),
      route("gone", "127.0.0.1:1", {}),
      {
        ...route("again", upstreamHost, {}),
        retry: { attempts: 2, codes: [507], backoff: "20ms" },
      },
      {
        ...route("waiting", upstreamHost, {}),
        retry: { attempts: 1, codes: [507], backoff: "60s" },
        timeouts: { request: "200ms" },
      },
      route("changed", upstreamHost, {
        transformation: {
          response: { set: [{ name: ":status", value: "404" }] },
        },
      }),
      route("direct", upstreamHost, { directResponse: { status: 410 } }),
      route("key", upstreamHost, {
        apiKeyAuthentication: { keys: [{ key: "abc" }] },
      }),
      route("buffer", upstreamHost, {
        directResponse: { status: 200, body: "a".repeat(1025) },
        transformation: { response: { body: "response.body + '!'" } },
      }),
      route("token", upstreamHost, jwt),
      route("rule", upstreamHost, { ...jwt, authorization: rules }),
      route("limit", upstreamHost, {
        rateLimit: { local: [{ requests: 1, unit: "Hours" }] },
      }),
      route("team-limit", upstreamHost, {
        apiKeyAuthentication: {
          keys: [{ key: "team-key", metadata: { team: "blue" } }],
        },
        rateLimit: {
          local: [{ requests: 1, unit: "Hours", key: "apiKey.team" }],
        },
      }),
      route("model", upstreamHost, {
        apiKeyAuthentication: {
          keys: [{ key: "model-key", metadata: { models: ["small"] } }],
        },
        authorization: {
          policy: {
            matchExpressions: ["request.headers['x-model'] in apiKey.models"],
          },
        },
      }),
    ],
  });
  return {
    ...gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream.stop();
    },
  };
}

function route(
  name: string,
  host: string,
  policies: Readonly<Record<string, unknown>>,
) {
  const path = { type: "PathPrefix", value: `/${name}` };
  return { name, matches: [{ path }], backends: [{ host }], policies };
}

async function explain(
  { admin }: TracedGateway,
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const address = ["--admin", new URL(admin).host];
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["ctl", "explain", ...args, ...address],
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Sends a request that fails; answers its id. */
async function fail(
  { origin }: TracedGateway,
  path: string,
  request: RawRequest = {},
): Promise<string> {
  const { status, headers } = await fetchRaw(origin + path, request);
  assert.ok(status >= 400, String(status));
  return String(headers["x-request-id"]);
}

const cases: readonly {
  readonly path: string;
  readonly request?: () => Promise<RawRequest>;
  readonly times?: number;
  readonly says: readonly RegExp[];
}[] = [
  {
    path: "/failing",
    says: [
      /^507 GET 127\.0\.0\.1:\d+\/failing at 20/,
      /The backend "default\/failing\/backend0" returned 507; the gateway forwarded it\./,
      /backend default\/failing\/backend0/,
      /initial request: GET http:\/\/127\.0\.0\.1:\d+\/failing$/m,
      /backendCallResult .*returned 507/,
    ],
  },
  {
    path: "/changed",
    says: [
      /The backend "default\/changed\/backend0" returned 507; a transformation changed it to 404\./,
      /backendCallResult .*returned 507/,
    ],
  },
  {
    path: "/direct",
    says: [/A policy of the route returned 410 itself\./],
  },
  {
    path: "/key",
    says: [/The caller was not authenticated: API key required\./],
  },
  {
    path: "/buffer",
    says: [
      /A transformation failed: Cannot change the response: the body is longer than 1024 bytes\.\n/,
      /fix {5}Raise `config\.limits\.maxBufferBytes`/,
    ],
  },
  {
    path: "/gone",
    says: [
      /The backend "default\/gone\/backend0" at 127\.0\.0\.1:1 failed: .*refused/,
      /fix {5}Check that it runs/,
    ],
  },
  {
    path: "/token",
    says: [
      /The caller was not authenticated: a bearer token is required\./,
      /^at {6}header authorization$/m,
    ],
  },
  {
    path: "/token/of-another-audience",
    request: async () => ({
      headers: {
        authorization: `Bearer ${await issuer.sign({
          aud: ["https://a.example", "\x1b[2J"],
        })}`,
      },
    }),
    says: [
      /token audience is not accepted: has "https:\/\/a\.example", "\\u001b\[2J", expected "https:\/\/gw\.example\/mcp"/,
      /requestFinished .*has "https:\/\/a\.example"/,
    ],
  },
  {
    path: "/rule",
    request: async () => ({
      headers: { authorization: `Bearer ${await issuer.sign()}` },
    }),
    says: [
      /Denied: rule "'read' in jwt\.permissions".* In this request, jwt\.permissions is not set\./,
      /at {6}rule 'read' in jwt\.permissions/,
      /authorizationResult .*denied by 'read' in jwt\.permissions/,
    ],
  },
  {
    path: "/model",
    request: () =>
      Promise.resolve({
        headers: { authorization: "Bearer model-key", "x-model": "large" },
      }),
    says: [
      /In this request, request\.headers\["x-model"\] is "large" and apiKey\.models is \["small"\]\./,
    ],
  },
  {
    path: "/team-limit",
    times: 2,
    request: () =>
      Promise.resolve({ headers: { authorization: "Bearer team-key" } }),
    says: [/is used up\. The budget is that of "blue"\./],
  },
  {
    path: "/limit",
    times: 2,
    says: [
      /A rate limit rejected the request: Limit "1 requests? per hour" of HTTPRoute\/default\/limit is used up\./,
      /at {6}budget 1 requests? per hour/,
      /rateLimit .*429 local/,
    ],
  },
  {
    path: "/nowhere",
    says: [
      /No route matches GET \/nowhere for the host .*; these did not match: .*default\/failing\/0/,
    ],
  },
];

for (const { path, request, times = 1, says } of cases) {
  Deno.test(`gwctl explain reports why ${path} failed`, async () => {
    await using gateway = await startFailing();
    let id = "";
    for (let i = 0; i < times; i++) {
      id = await fail(gateway, path, await request?.());
    }

    const { code, stdout, stderr } = await explain(gateway, id);

    assert.equal(code, 0, stderr);
    for (const pattern of says) assert.match(stdout, pattern);
  });
}

Deno.test("gwctl explain -o json prints the response of the admin interface, in the format of a trace", async () => {
  await using gateway = await startFailing();
  const id = await fail(gateway, "/gone?password=planted-secret");

  const { stdout } = await explain(gateway, id, "-o", "json");

  const report = JSON.parse(stdout);
  assert.equal(report.status, 503);
  assert.equal(report.reason, "upstream_connect_failed");
  assert.deepEqual(
    report.events.map((
      { message }: { message: { type: string } },
    ) => message.type),
    [
      "requestStarted",
      "requestSnapshot",
      "routeSelection",
      "backendCallStart",
      "backendCallResult",
      "responseSnapshot",
      "requestFinished",
    ],
  );
  assert.match(stdout, /\/gone\?password=<redacted>/);
  assert.doesNotMatch(stdout, /planted-secret/);
});

Deno.test("gwctl explain reports when each attempt began and ended", async () => {
  await using gateway = await startFailing();
  const id = await fail(gateway, "/again");

  const { stdout } = await explain(gateway, id, "-o", "json");

  const { events }: { events: readonly Timed[] } = JSON.parse(stdout);
  const [first, second, third, more] = events.filter(({ message }) =>
    message.type === "backendCallResult"
  );
  assert.ok(first && second && third && more === undefined, stdout);
  for (const { eventStart, eventEnd } of [first, second, third]) {
    assert.ok(0 <= eventStart && eventStart <= eventEnd, stdout);
  }
  // Between them are the delays, in microseconds.
  assert.ok(second.eventStart - first.eventEnd >= 19_000, stdout);
  assert.ok(third.eventStart - second.eventEnd >= 39_000, stdout);
  assert.ok(third.eventEnd <= (events.at(-1)?.eventEnd ?? 0), stdout);
});

Deno.test("gwctl explain shows no attempt for which there was no time", async () => {
  await using gateway = await startFailing();
  const id = await fail(gateway, "/waiting");

  const { stdout } = await explain(gateway, id, "-o", "json");

  assert.equal(JSON.parse(stdout).reason, "route_timeout");
  assert.equal(stdout.match(/"backendCallResult"/g)?.length, 1, stdout);
});

interface Timed {
  readonly eventStart: number;
  readonly eventEnd: number;
  readonly message: { readonly type: string };
}

Deno.test("gwctl explain finds a request by the ID in the response of the upstream", async () => {
  const upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 400 Bad\r\nx-request-id: req_011C\r\ncontent-length: 0\r\n\r\n",
    );
  });
  const host = `127.0.0.1:${upstream.port}`;
  await using gateway = await startTracedGateway({
    routes: [route("own", host, {})],
  });

  const seen = await fail(gateway, "/own");
  const { stdout } = await explain(gateway, seen);

  assert.equal(seen, "req_011C");
  assert.match(stdout, /^400 GET 127\.0\.0\.1:\d+\/own at /);
  assert.match(
    stdout,
    /got x-request-id "[\w-]{36}" and uses the ID "req_011C"/,
  );
  assert.match(
    gateway.accessLog.join(""),
    / request\.id=[\w-]{36} upstream\.request\.id=req_011C reason=upstream/,
  );
  await upstream.stop();
});

Deno.test("gwctl explain lists failed requests, the newest first", async () => {
  await using gateway = await startFailing();
  const first = await fail(gateway, "/gone");
  const second = await fail(gateway, "/token");
  await fetchRaw(`${gateway.origin}/limit`);

  const { code, stdout } = await explain(gateway);

  assert.equal(code, 0);
  const ids = stdout.split("\n").filter((line) => /^\S/.test(line))
    .map((line) => line.split(" ")[0]);
  assert.deepEqual(ids.slice(-2), [second, first]);
});

Deno.test("requests rejected before they were parsed are in the list", async () => {
  await using gateway = await startFailing();
  const connection = await Deno.connect({ port: gateway.port });
  await connection.write(
    new TextEncoder().encode("GET / HTTP/1.1\r\nbad header\r\n\r\n"),
  );
  await new Response(connection.readable).text();

  const { stdout } = await explain(gateway, "refused-1");

  assert.match(stdout, /^400 /);
  assert.match(
    stdout,
    /The gateway rejected it \(bad_request\): Cannot [^:]+\.$/m,
  );
});

Deno.test("gwctl explain fails for an unknown ID, and reports why", async () => {
  await using gateway = await startFailing();
  await using off = await startFailing({ failureMemory: { enabled: false } });
  const id = await fail(off, "/gone");

  const unknown = await explain(gateway, "nonsense");
  const notRemembered = await explain(off, id);

  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /Cannot explain: no failed request with this id: .* in memory, since it started at \d{4}-/,
  );
  assert.equal(notRemembered.code, 1);
  assert.match(notRemembered.stderr, /failureMemory\.enabled is false/);
});

Deno.test("gwctl explain without failures says since when they are recorded", async () => {
  await using gateway = await startFailing();

  const { code, stdout } = await explain(gateway);

  assert.equal(code, 0);
  assert.match(
    stdout,
    /^No recent failures: they are recorded in memory, since the gateway started at \d\d:\d\d on \w+ \w+ \d+ \d+\n$/,
  );
});

Deno.test("only the last failures are kept", async () => {
  await using gateway = await startFailing({ failureMemory: { size: 3 } });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await fail(gateway, `/nowhere/${i}`));

  const { requests } = await gateway.gateway.dataPlane.call("requests", {
    status: "failed",
    limit: 100,
  });

  assert.deepEqual(requests.map(({ id }) => id), ids.slice(2).reverse());
});

Deno.test("gwctl explain reports the address that a name may not have", async () => {
  await using gateway = await startTracedGateway({
    config: { egress: { deny: ["127.0.0.0/8", "::1"] } },
    routes: [route("denied", "localhost:1", {})],
  });
  const id = await fail(gateway, "/denied");

  const { stdout } = await explain(gateway, id);

  assert.match(
    stdout,
    /failed: Denied to connect to "(?:127\.0\.0\.1|\[::1\]):1": denied by "(?:127\.0\.0\.0\/8|::1)" of config\.egress\.deny/,
  );
  assert.match(stdout, /fix {5}Backends may not have this address/);
});

Deno.test("explain leads from a provider that does not speak TLS to plainText", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  await using gateway = await startTracedGateway({
    routes: [{
      name: "chat",
      backends: [{
        llm: {
          provider: "OpenAICompatible",
          host: `127.0.0.1:${upstream.port}`,
        },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/models`);
  await response.body?.cancel();
  const id = response.headers.get("x-request-id") ?? "";
  const { stdout } = await gatewayCommand({
    args: ["ctl", "explain", id, "--admin", new URL(gateway.admin).host],
  }).output();
  const text = new TextDecoder().decode(stdout);

  assert.match(text, /does not speak TLS: it may be a plain HTTP port\.$/m);
  assert.match(text, /set `plainText: true` of an LLM provider\.$/m);
});
