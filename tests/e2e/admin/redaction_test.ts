import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import {
  eventsOf,
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

/** A place of a request or response where a secret stands. */
interface Planted {
  readonly place: string;
  readonly secret: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Headers of the upstream's answer. */
  readonly answered?: string;
  readonly policies?: Readonly<Record<string, unknown>>;
  /** Value for the backend: the secret itself by default, `undefined` when the gateway removes it. */
  readonly arrives?: string | undefined;
}

const issuer = await createTokenIssuer();
const token = await issuer.sign({
  exp: Math.floor(Date.now() / 1000) + 3600,
});
const signature = token.split(".")[2] ?? "";

const jwt = {
  jwtAuthentication: {
    providers: [{
      issuer: issuer.issuer,
      audiences: ["https://gw.example/mcp"],
      jwks: { inline: jwksOf(issuer) },
    }],
  },
};

function apiKey(location?: Readonly<Record<string, unknown>>) {
  return {
    apiKeyAuthentication: {
      keys: [{ key: "planted-api-key", metadata: { team: "blue" } }],
      ...(location && { location }),
    },
  };
}

/** The SHA-1 of `planted-password`, as htpasswd writes it. */
async function basicUser(): Promise<string> {
  const bytes = new TextEncoder().encode("planted-password");
  const digest = await crypto.subtle.digest("SHA-1", bytes);
  return `anna:{SHA}${new Uint8Array(digest).toBase64()}`;
}

const places: readonly Planted[] = [
  {
    place: "Authorization",
    secret: "planted-token-1",
    headers: { authorization: "Bearer planted-token-1" },
  },
  {
    place: "Proxy-Authorization",
    secret: "planted-token-2",
    headers: { "proxy-authorization": "Bearer planted-token-2" },
    arrives: undefined,
  },
  {
    place: "a cookie",
    secret: "planted-cookie",
    headers: { cookie: "theme=dark; sid=planted-cookie" },
  },
  {
    place: "X-Api-Key",
    secret: "planted-llm-key",
    headers: { "x-api-key": "planted-llm-key" },
  },
  {
    place: "a header of config.sensitiveHeaders",
    secret: "planted-session",
    headers: { "X-Session": "planted-session" },
  },
  {
    place: "Set-Cookie",
    secret: "planted-set-cookie",
    answered: "set-cookie: sid=planted-set-cookie; Path=/\r\n",
    arrives: undefined,
  },
  {
    place: "a sensitive header of the answer",
    secret: "planted-answer",
    answered: "x-session: planted-answer\r\n",
    arrives: undefined,
  },
  {
    place: "the query",
    secret: "planted-query",
    target: "/v1?access_token=planted-query&page=2",
  },
  {
    place: "the query, with a name that is encoded",
    secret: "planted-query",
    target: "/v1?%61ccess_token=planted-query",
  },
  {
    place: "a query parameter of an API key",
    secret: "planted-api-key",
    target: "/v1?mykey=planted-api-key",
    policies: apiKey({ queryParameter: { name: "mykey" } }),
    arrives: undefined,
  },
  {
    place: "a header of an API key",
    secret: "planted-api-key",
    headers: { "x-team-key": "planted-api-key" },
    policies: apiKey({ header: { name: "x-team-key" } }),
    arrives: undefined,
  },
  {
    place: "a wrong API key",
    secret: "planted-wrong-key",
    headers: { "x-team-key": "planted-wrong-key" },
    policies: apiKey({ header: { name: "x-team-key" } }),
    arrives: undefined,
  },
  {
    place: "the password of a user",
    secret: "planted-password",
    headers: { authorization: `Basic ${btoa("anna:planted-password")}` },
    policies: { basicAuthentication: { users: [await basicUser()] } },
    arrives: undefined,
  },
  {
    place: "the password of a user, encoded",
    secret: btoa("anna:planted-password"),
    headers: { authorization: `Basic ${btoa("anna:planted-password")}` },
    policies: { basicAuthentication: { users: [await basicUser()] } },
    arrives: undefined,
  },
  {
    place: "the signature of a token",
    secret: signature,
    headers: { authorization: `Bearer ${token}` },
    policies: jwt,
  },
  {
    place: "the signature of a token in another header",
    secret: signature,
    headers: { "x-forwarded-access": token },
  },
  {
    place: "the signature of a token in the path",
    secret: signature,
    target: `/v1/${token}/files`,
  },
  {
    place: "a subscription key of Azure",
    secret: "planted-subscription",
    headers: { "Ocp-Apim-Subscription-Key": "planted-subscription" },
  },
  {
    place: "the session token of a request that is signed for AWS",
    secret: "planted-session-token",
    headers: { "x-amz-security-token": "planted-session-token" },
  },
  {
    place: "a subprotocol of a WebSocket",
    secret: "sk-planted",
    headers: {
      "sec-websocket-protocol":
        "realtime, openai-insecure-api-key.sk-planted, openai-beta.realtime-v1",
    },
  },
  {
    place: "a copy in another header",
    secret: "planted-token-3",
    headers: {
      authorization: "Bearer planted-token-3",
      "x-copy": "was planted-token-3 before",
    },
  },
  {
    place: "a body that repeats a header",
    secret: "planted-token-4",
    headers: { authorization: "Bearer planted-token-4" },
    body: '{"echo":"planted-token-4"}',
  },
  {
    place: "a body of OAuth",
    secret: "planted-client-secret",
    headers: { "content-type": "application/json" },
    body: '{"client_id":"a","client_secret":"planted-client-secret"}',
  },
  {
    place: "a form",
    secret: "planted-client-secret",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "client_id=a&client_secret=planted-client-secret",
  },
  {
    place: "a header that a modifier sets",
    secret: "planted-upstream-key",
    policies: {
      requestHeaderModifier: {
        set: [{ name: "Authorization", value: "Bearer planted-upstream-key" }],
      },
    },
  },
  {
    place: "a header that a transformation makes of a sensitive one",
    secret: "planted-token-5",
    headers: { authorization: "Bearer planted-token-5" },
    policies: {
      transformation: {
        request: {
          set: [{
            name: "x-upstream-auth",
            value: "request.headers['authorization']",
          }],
        },
      },
    },
  },
  {
    place: "a header that a transformation makes of an API key's metadata",
    secret: "planted-upstream-key",
    headers: { authorization: "Bearer planted-api-key" },
    policies: {
      apiKeyAuthentication: {
        keys: [{
          key: "planted-api-key",
          metadata: { upstream: { keys: ["planted-upstream-key"] } },
        }],
      },
      transformation: {
        request: {
          set: [{ name: "x-upstream", value: "apiKey.upstream.keys[0]" }],
        },
      },
    },
  },
  {
    place: "a sensitive header that a transformation makes of another",
    secret: "planted-plain",
    headers: { "x-plain": "planted-plain" },
    policies: {
      transformation: {
        request: {
          set: [{
            name: "x-session",
            value: "request.headers['x-plain']",
          }],
          remove: ["x-plain"],
        },
      },
    },
  },
];

/** Before the transformation marks it, the value of an ordinary header is no secret. */
const shownBeforehand = new Set([
  "a sensitive header that a transformation makes of another",
]);

for (const planted of places) {
  for (const status of [200, 500]) {
    const { place, secret } = planted;
    Deno.test(`a secret in ${place} is shown nowhere, when the response is ${status}`, async () => {
      const received: string[] = [];
      await using upstream = startUpstream(status, planted, received);
      await using gateway = await start(planted, upstream.port);
      const stream = await gateway.watch();

      const { headers = {}, target = "/v1", body = "" } = planted;
      const answer = await fetchRaw(gateway.origin + target, {
        method: body === "" ? "GET" : "POST",
        headers: body === ""
          ? headers
          : { ...headers, "content-length": String(body.length) },
        body,
      });

      const trace = (await eventsOf(stream)).map(decodeBody);
      const { arrives = "arrives" in planted ? undefined : secret } = planted;
      if (arrives !== undefined) {
        assert.ok(received.join("").includes(arrives), "it did not arrive");
      }
      const shown = {
        trace: shownBeforehand.has(place)
          ? withoutFirstSnapshots(trace)
          : trace.join("\n"),
        log: gateway.log.join(""),
        accessLog: gateway.accessLog.join(""),
        configDump: await textAt(gateway, "/config_dump"),
        failures: await textAt(gateway, "/debug/requests"),
        failure: await textAt(
          gateway,
          `/debug/requests/${answer.headers["x-request-id"]}`,
        ),
        metrics: await gateway.gateway.dataPlane.call("collectMetrics"),
        traffic: await textAt(gateway, "/traffic?by=model"),
        usage: await textAt(gateway, "/usage?by=route"),
        // Metadata is the name of its key there.
        ...(!place.includes("metadata") &&
          { requests: await textAt(gateway, "/requests") }),
      };
      for (const [name, text] of Object.entries(shown)) {
        assert.ok(text.length > 0 || name === "log", `${name} is empty`);
        assert.ok(!text.includes(secret), `${name} shows it: ${text}`);
      }
      assert.match(shown.trace, /<redacted>/);
    });
  }
}

Deno.test("expressions read secrets that traces hide", async () => {
  const received: string[] = [];
  const plain: Planted = {
    place: "",
    secret: "",
    policies: {
      authorization: {
        policy: {
          matchExpressions: [
            "request.headers['x-session'] == 'planted' + '-session'",
          ],
        },
      },
    },
  };
  await using upstream = startUpstream(200, plain, received);
  await using gateway = await start(plain, upstream.port);

  const { status } = await fetchRaw(gateway.origin, {
    headers: { "x-session": "planted-session" },
  });

  assert.equal(status, 200);
});

Deno.test("the error for a client contains nothing of the request", async () => {
  await using gateway = await start({ place: "", secret: "" }, 1);

  const { status, bytes, headers } = await fetchRaw(
    `${gateway.origin}/v1?token=planted-secret`,
    { headers: { authorization: "Bearer planted-secret" } },
  );

  assert.equal(status, 503);
  const answer = JSON.stringify(headers) + new TextDecoder().decode(bytes);
  assert.ok(!answer.includes("planted"), answer);
});

function startUpstream(
  status: number,
  { answered = "" }: Planted,
  received: string[],
): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      received.push(request);
      // The response repeats the request, as an echo does.
      const body = answered + request;
      await connection.send(
        `HTTP/1.1 ${status} Any\r\n${answered}content-length: ${body.length}\r\n\r\n${body}`,
      );
    }
  });
}

function start(
  { policies = {} }: Planted,
  upstreamPort: number,
): Promise<TracedGateway> {
  return startTracedGateway({
    config: { sensitiveHeaders: ["X-Session"] },
    routes: [{
      name: "all",
      backends: [{ host: `127.0.0.1:${upstreamPort}` }],
      policies,
    }],
  });
}

/** An event as text, its body as it was. */
function decodeBody(event: TraceEvent): string {
  const { message } = event;
  const body = message.type === "bodySnapshot" ? atob(message.body) : "";
  return JSON.stringify(event) + body;
}

function withoutFirstSnapshots(trace: readonly string[]): string {
  const marked = trace.findIndex((event) => event.includes("final request"));
  return trace.slice(marked).join("\n");
}

async function textAt(
  { admin }: TracedGateway,
  path: string,
): Promise<string> {
  return await (await fetch(admin + path)).text();
}
