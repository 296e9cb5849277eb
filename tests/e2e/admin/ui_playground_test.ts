import assert from "node:assert/strict";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import {
  startUiGateway,
  UI_AUTHORIZATION,
} from "../../harness/browser/ui_gateway.ts";

const hello = {
  name: "hello",
  matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
  policies: {
    transformation: {
      response: {
        body: "request.host + toJson(request.headers) + request.body",
      },
    },
    directResponse: { status: 418 },
  },
};

interface Relayed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

function post(
  { admin }: Pick<TracedGateway, "admin">,
  path: string,
  body: unknown,
  site = "same-origin",
): Promise<Response> {
  return fetch(`${admin}/ui/api/playground/${path}`, {
    method: "POST",
    headers: { "sec-fetch-site": site },
    body: JSON.stringify(body),
  });
}

async function send(
  gateway: Pick<TracedGateway, "admin">,
  wanted: object,
): Promise<Relayed> {
  const response = await post(gateway, "send", { method: "GET", ...wanted });
  assert.equal(
    response.headers.get("content-type"),
    "application/octet-stream",
  );
  const text = await response.text();
  const end = text.indexOf("\n");
  const { status, headers } = JSON.parse(text.slice(0, end));
  return {
    status,
    headers: Object.fromEntries(headers),
    text: text.slice(end + 1),
  };
}

Deno.test("the playground sends a request to a listener, whatever the host of its URL is", async () => {
  await using gateway = await startTracedGateway({
    routes: [{ ...hello, hostnames: ["api.example.com"] }],
  });

  const response = await send(gateway, {
    port: gateway.port,
    url: "https://api.example.com/hello?a=1",
    method: "POST",
    headers: { "X-Team": "blue", Host: "other", "Transfer-Encoding": "x" },
    body: "w\u00fc",
  });

  assert.equal(response.status, 418);
  assert.match(response.text, /"x-team":"blue"/);
  assert.match(response.text, /^api\.example\.com\{.*wü$/);
});

Deno.test("the playground sends a request to a listener with TLS, by the name in its URL", async () => {
  const authority = await createAuthority();
  const own = await authority.issueServer(["api.example.com"]);
  const port = freePort();
  await using gateway = await startTracedGateway({
    gateways: {
      default: { port, address: "127.0.0.1", protocol: "HTTPS", tls: own },
    },
    routes: [hello],
  });

  const response = await send(gateway, {
    port,
    url: "https://api.example.com/hello",
  });

  assert.match(response.text, /^api\.example\.com/);
});

const outside: Readonly<Record<string, (other: string) => object>> = {
  "a server that is no listener": (other) => ({
    port: Number(new URL(other).port),
    url: other,
  }),
  "any URL without a listener": (other) => ({ url: `${other}/x` }),
  "another path of an identity provider": (other) => ({
    url: `${other}/admin`,
    method: "POST",
  }),
};

for (const [name, wanted] of Object.entries(outside)) {
  Deno.test(`the playground sends nothing to ${name}`, async () => {
    const seen: string[] = [];
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      ({ url }) => {
        seen.push(new URL(url).pathname);
        return new Response("no metadata", { status: 404 });
      },
    );
    const origin = `http://127.0.0.1:${server.addr.port}`;
    await using gateway = await startTracedGateway({
      routes: [{
        ...hello,
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: origin,
              audiences: ["a"],
              jwks: { url: `${origin}/keys` },
            }],
          },
        },
      }],
    });

    const response = await post(gateway, "send", {
      method: "GET",
      ...wanted(origin),
    });
    const text = await response.text();

    assert.equal(response.status, 403);
    assert.match(text, /expected the port of a listener of this gateway/);
    assert.deepEqual(
      seen.filter((path) => !/^\/keys$|well-known/.test(path)),
      [],
    );
  });
}

Deno.test("the playground reads the metadata of a configured identity provider, and posts to the token endpoint that it names", async () => {
  const port = freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const idp = await startIdpA();
  await using closing = new AsyncDisposableStack();
  closing.use(idp);
  const server = closing.adopt(startMcpServer(), (each) => each.close());
  const config = protectedConfig(idp, {
    provider: "IdpA",
    url,
    upstream: server.origin,
    mcp: { issuerMode: "Upstream" },
  });
  await using gateway = await startTracedGateway(config);

  const metadata = await send(gateway, {
    url: `${idp.origin}/.well-known/openid-configuration`,
  });
  const { token_endpoint } = JSON.parse(metadata.text);
  const token = await send(gateway, {
    url: token_endpoint,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "grant_type=authorization_code&code=none",
  });

  assert.equal(metadata.status, 200);
  assert.equal(token.status, 400);
  assert.match(token.text, /"error":/);
});

const faults: readonly (readonly [body: unknown, reason: RegExp])[] = [
  [{}, /expected a string "url"/],
  [{ url: "file:///etc/passwd", method: "GET" }, /invalid url/],
  [{ url: "http://a/", method: "CONNECT" }, /invalid method/],
  [{ url: "http://a/", method: "GET", port: "80" }, /invalid port/],
  [{ url: "http://a/", method: "GET", body: 1 }, /invalid body/],
  [{ url: "http://a/", method: "GET", headers: { "a b": "c" } }, /headers/],
  [
    { url: "http://a/", method: "GET", headers: { a: "b\r\nc: d" } },
    /headers/,
  ],
];

Deno.test("the playground rejects requests that are none, and those of other pages", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  const valid = { port: gateway.port, url: gateway.origin, method: "GET" };

  for (const [body, reason] of faults) {
    const response = await post(gateway, "send", body);
    assert.equal(response.status, 400);
    assert.match(await response.text(), reason);
  }
  for (const path of ["send", "evaluate"]) {
    const response = await post(gateway, path, valid, "cross-site");
    await response.body?.cancel();
    assert.equal(response.status, 403);
  }
});

Deno.test("a listener that does not respond is an error, and a client that leaves ends the request", async () => {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ signal }) => {
      signal.addEventListener("abort", () => left.resolve());
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("data: 1\n\n"));
          asked.resolve();
        },
      });
      return new Response(body);
    },
  );
  await using gateway = await startTracedGateway({
    routes: [{
      name: "slow",
      backends: [{ host: `127.0.0.1:${upstream.addr.port}` }],
    }],
  });
  const wanted = { port: gateway.port, url: gateway.origin, method: "GET" };

  const response = await post(gateway, "send", wanted);
  const reader = response.body?.getReader();
  await reader?.read();
  await asked.promise;
  await reader?.cancel();

  await left.promise;
});

Deno.test("an expression is evaluated with its parts", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  const evaluate = async (body: unknown) => {
    const response = await post(gateway, "evaluate", body);
    return response.ok ? await response.json() : await response.text();
  };

  const result = await evaluate({
    expression: "request.path == '/a'",
    variables: { request: { path: "/b" } },
  });
  const fault = await evaluate({ expression: "1 +", variables: {} });
  const wrong = await evaluate({ expression: "1", variables: [] });

  assert.deepEqual(result, {
    parts: [
      { text: 'request.path == "/a"', depth: 0, value: false },
      { text: "request.path", depth: 1, value: "/b" },
    ],
    isCut: false,
  });
  assert.match(fault.fault, /at column/);
  assert.match(wrong, /expected an object "variables"/);
});

Deno.test("a gateway that serves the web UI has no playground", async () => {
  await using gateway = await startUiGateway({ access: "ReadWrite" });

  for (const path of ["send", "evaluate"]) {
    const response = await fetch(
      `${gateway.origin}/ui/api/playground/${path}`,
      {
        method: "POST",
        headers: {
          authorization: UI_AUTHORIZATION,
          "sec-fetch-site": "same-origin",
        },
        body: "{}",
      },
    );
    await response.body?.cancel();
    assert.equal(response.status, 404);
  }
});
