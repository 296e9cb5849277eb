import assert from "node:assert/strict";
import { hashSync } from "bcryptjs";
import { textSource, validateConfiguration } from "../../../mod.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { exchangeRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

/** An upstream that answers with the request that reached it. */
function echo(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      await connection.send(answer(request));
    }
  });
}

function backends({ port }: RawUpstream) {
  return [{ host: `127.0.0.1:${port}` }];
}

const page = "https://app.example.com";
const cors = { allowOrigins: [page] };
const apiKeyAuthentication = {
  keys: [
    { key: "blue-key", metadata: { team: "blue" } },
    { key: "red-key", metadata: { team: "red" } },
  ],
};

/** A policy of the whole gateway. */
function gatewayPolicy(traffic: Readonly<Record<string, unknown>>) {
  return {
    name: "everywhere",
    targetRefs: [{ kind: "Gateway", name: "default" }],
    traffic,
  };
}

function allow(...matchExpressions: string[]) {
  return { action: "Allow", policy: { matchExpressions } };
}

Deno.test("gateway passes known keys that the rules allow, and rules of gateway and route all count", async () => {
  await using upstream = echo();
  await using gateway = await startTestGateway({
    policies: [
      gatewayPolicy({
        apiKeyAuthentication,
        authorization: allow("request.method == 'GET'"),
      }),
    ],
    routes: [{
      policies: { authorization: allow("apiKey.team == 'blue'") },
      backends: backends(upstream),
    }],
  });
  const send = async (key?: string, method = "GET") => {
    const headers: Record<string, string> = key === undefined
      ? {}
      : { authorization: `Bearer ${key}` };
    const response = await fetch(gateway.origin, { method, headers });
    return { status: response.status, text: await response.text() };
  };

  const allowed = await send("blue-key");
  assert.equal(allowed.status, 200);
  assert.doesNotMatch(allowed.text, /blue-key/);
  assert.deepEqual(await send("red-key"), {
    status: 403,
    text:
      '{"error":"forbidden","error_description":"the request is not allowed"}',
  });
  assert.equal((await send("blue-key", "DELETE")).status, 403);
  assert.equal((await send("other")).status, 401);
  assert.deepEqual(await send(), {
    status: 401,
    text: '{"error":"unauthorized","error_description":"API key required"}',
  });
});

Deno.test("gateway decorates 401 and 403 for pages of other origins, and answers their preflight", async () => {
  await using upstream = echo();
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        cors,
        apiKeyAuthentication,
        authorization: allow("apiKey.team == 'blue'"),
      },
      backends: backends(upstream),
    }],
  });
  const allowedOrigin = async (init: RequestInit) => {
    const response = await fetch(gateway.origin, init);
    await response.body?.cancel();
    return [
      response.status,
      response.headers.get("access-control-allow-origin"),
    ];
  };

  const authorization = "Bearer red-key";
  assert.deepEqual(await allowedOrigin({ headers: { origin: page } }), [
    401,
    page,
  ]);
  assert.deepEqual(
    await allowedOrigin({ headers: { origin: page, authorization } }),
    [403, page],
  );
  const [status, origin] = await allowedOrigin({
    method: "OPTIONS",
    headers: { origin: page, "access-control-request-method": "GET" },
  });
  assert.ok(status === 200 || status === 204);
  assert.equal(origin, page);
});

Deno.test("gateway authenticates users by password and passes their name to rules only", async () => {
  await using upstream = echo();
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        basicAuthentication: {
          users: [
            `anna:${hashSync("secret", 4)}`,
            `otto:${hashSync("secret", 4)}`,
          ],
          realm: "tools",
        },
        authorization: allow("basicAuth.username == 'anna'"),
      },
      backends: backends(upstream),
    }],
  });
  const send = async (credentials?: string) => {
    const headers: Record<string, string> = credentials === undefined
      ? {}
      : { authorization: `Basic ${btoa(credentials)}` };
    const response = await fetch(gateway.origin, { headers });
    const challenge = response.headers.get("www-authenticate");
    return { status: response.status, challenge, text: await response.text() };
  };

  const allowed = await send("anna:secret");
  assert.equal(allowed.status, 200);
  assert.doesNotMatch(allowed.text, /authorization/i);
  assert.equal((await send("otto:secret")).status, 403);
  const { status, challenge } = await send("anna:wrong");
  assert.equal(status, 401);
  assert.equal(challenge, 'Basic realm="tools", charset="UTF-8"');
  assert.equal((await send()).status, 401);
});

Deno.test("gateway decides by the tool of an MCP message and forwards the message unchanged", async () => {
  await using upstream = echo();
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        authorization: allow("!has(mcp.tool) || mcp.tool.name == 'search'"),
      },
      backends: backends(upstream),
    }],
  });
  const send = async (body: string) => {
    const response = await fetch(gateway.origin, { method: "POST", body });
    return { status: response.status, text: await response.text() };
  };
  const call = (name: string) =>
    `{ "jsonrpc": "2.0",  "id": 1, "method": "tools/call", "params": {"name": "${name}"} }`;

  const allowed = await send(call("search"));
  assert.equal(allowed.status, 200);
  assert.ok(allowed.text.endsWith(`\r\n\r\n${call("search")}`), allowed.text);
  assert.equal((await send(call("drop"))).status, 403);
  assert.equal((await send(`[${call("drop")}]`)).status, 403);
});

for (
  const [rule, status, why] of [
    ["!has(mcp.tool)", 403, "nobody would hold its messages to the rule"],
    [
      "!has(llm.requestModel)",
      403,
      "nobody would hold its messages to the rule",
    ],
    ["request.method == 'GET'", 101, "the rule is not about messages"],
  ] as const
) {
  Deno.test(`a WebSocket gets ${status} where the rule is ${rule}: ${why}`, async () => {
    await using upstream = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      );
    });
    await using gateway = await startTestGateway({
      routes: [{
        policies: { authorization: allow(rule) },
        backends: backends(upstream),
      }],
    });

    const response = await exchangeRaw(
      gateway.port,
      "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    );

    assert.equal(statusOf(response), status);
    assert.equal(upstream.accepted, status === 101 ? 1 : 0);
  });
}

Deno.test("validate reports where rules, users and keys are wrong, without their secrets", async () => {
  const config = `gateways:
  default: { port: 8080 }
routes:
- backends: [{ host: "localhost:1" }]
  policies:
    basicAuthentication:
      users: ["anna:geheim"]
    apiKeyAuthentication:
      keys:
      - key: geheim
      - key: geheim
    authorization:
      policy:
        matchExpressions:
        - "'admin' in jtw.roles"
        - request.path = '/'
`;
  const { text } = await validateConfiguration(textSource(config), {});

  assert.doesNotMatch(text, /geheim/);
  assert.match(text, /:7:\d+: error: .*users\[0\]: .*user "anna" has a/);
  assert.match(text, /:11:\d+: error: .*keys\[1\]: Duplicate key/);
  assert.match(
    text,
    /:15:23: error: .*\[0\]: .*unknown variable "jtw" at column 12; did you mean "jwt"\?/,
  );
  assert.match(
    text,
    /:16:24: error: .*\[1\]: .*unknown operator "=" at column 14/,
  );
});

for (const action of ["Allow", "Deny"]) {
  Deno.test(`gateway rejects with ${action} when a client's list makes a rule too expensive`, async () => {
    await using upstream = echo();
    const items = "request.headers['x-items'].split(',')";
    const rule = `${items}.exists(x, ${items}.exists(y, y == 'z')) == ${
      action === "Deny"
    }`;
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          authorization: { action, policy: { matchExpressions: [rule] } },
        },
        backends: backends(upstream),
      }],
    });
    const send = async (items: string) => {
      const headers = { "x-items": items };
      const response = await fetch(gateway.origin, { headers });
      await response.body?.cancel();
      return response.status;
    };

    assert.equal(await send("a,b"), 200);
    assert.equal(await send("a,".repeat(7000)), 403);
  });
}
