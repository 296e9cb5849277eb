import assert from "node:assert/strict";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { textSource, validateConfiguration } from "../../../mod.ts";
import {
  ChangingObjects,
  readObjects,
} from "../../harness/gateway/changing_objects.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { byUser } from "../../harness/gateway/limited_gateway.ts";
import { startRateLimitService } from "../../harness/servers/rate_limit_service.ts";

/** A server on the loopback interface that records its requests. */
function startSidecar() {
  const requests: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ method, url }) => {
      requests.push(`${method} ${new URL(url).pathname}`);
      return Response.json({ keys: [] });
    },
  );
  return {
    port: server.addr.port,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Starts a gateway with objects that come from a cluster. */
async function startWith(
  config: Readonly<Record<string, unknown>>,
  documents: readonly unknown[],
) {
  const resources = await readObjects(
    documents.map((document) => JSON.stringify(document)).join("\n---\n"),
  );
  const source = new ChangingObjects(config);
  source.replace({ ...resources, reserved: [] });
  return await Gateway.start({
    config: source,
    workers: {
      entry: new URL("../../../worker.ts", import.meta.url),
      writeLog: () => Promise.resolve(),
      writeAccessLog: () => Promise.resolve(),
      onLost: () => {},
    },
  });
}

const gatewayApi = { apiVersion: "gateway.networking.k8s.io/v1" };
const policyApi = { apiVersion: "policy.gateway.internal/v1alpha1" };

function gatewayAt(port: number) {
  return {
    ...gatewayApi,
    kind: "Gateway",
    metadata: { name: "gw" },
    spec: {
      addresses: [{ value: "127.0.0.1" }],
      listeners: [{ name: "http", port, protocol: "HTTP" }],
    },
  };
}

function backendAt(name: string, port: number) {
  return [{
    ...policyApi,
    kind: "GatewayBackend",
    metadata: { name },
    spec: { static: { host: "127.0.0.1", port } },
  }, {
    ...gatewayApi,
    kind: "HTTPRoute",
    metadata: { name },
    spec: {
      parentRefs: [{ name: "gw" }],
      rules: [{
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [{
          group: "policy.gateway.internal",
          kind: "GatewayBackend",
          name,
        }],
      }],
    },
  }];
}

/** A Service, its slice that somebody wrote, and a route to it. */
function serviceAt(name: string, addresses: readonly string[], port: number) {
  return [{
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ name: "http", port: 80 }] },
  }, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${name}-1`,
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [{ name: "http", port }],
  }, {
    ...gatewayApi,
    kind: "HTTPRoute",
    metadata: { name },
    spec: {
      parentRefs: [{ name: "gw" }],
      rules: [{
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [{ name, port: 80 }],
      }],
    },
  }];
}

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

Deno.test("backends of a cluster reach the loopback ports that the operator names, and nothing else there", async () => {
  await using sidecar = startSidecar();
  await using other = startSidecar();
  const port = freePort();
  await using gateway = await startWith({
    loopbackPorts: [sidecar.port, port],
  }, [
    gatewayAt(port),
    ...backendAt("sidecar", sidecar.port),
    ...backendAt("other", other.port),
    ...backendAt("self", port),
  ]);
  const origin = `http://127.0.0.1:${port}`;

  assert.equal(await statusOf(`${origin}/sidecar`), 200);
  assert.equal(await statusOf(`${origin}/other`), 500);
  assert.equal(await statusOf(`${origin}/self`), 500);
  assert.deepEqual(sidecar.requests, ["GET /sidecar"]);
  assert.deepEqual(other.requests, []);
  await gateway.stop(0);
});

for (const workers of [1, 2]) {
  Deno.test(`policies of a cluster fetch nothing from the loopback interface, workers: ${workers}`, () =>
    fetchNothing(workers));
}

async function fetchNothing(workers: number): Promise<void> {
  await using server = startSidecar();
  const port = freePort();
  const origin = `http://127.0.0.1:${server.port}`;
  await using gateway = await startWith({
    loopbackPorts: [server.port],
    workers,
  }, [
    gatewayAt(port),
    ...backendAt("sidecar", server.port),
    ...serviceAt("denied", ["127.0.0.2"], server.port),
    {
      ...policyApi,
      kind: "GatewayPolicy",
      metadata: { name: "jwt" },
      spec: {
        targetRefs: [{
          group: "gateway.networking.k8s.io",
          kind: "HTTPRoute",
          name: "sidecar",
        }],
        traffic: {
          jwtAuthentication: {
            providers: [{
              issuer: origin,
              audiences: ["a"],
              jwks: { url: `${origin}/jwks` },
            }],
            mcp: { issuerMode: "Proxied", clientId: "c" },
          },
        },
      },
    },
  ]);
  const route = `http://127.0.0.1:${port}/sidecar`;
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
  const token = [{ alg: "RS256", kid: "k" }, { iss: origin, aud: "a" }, "s"]
    .map(encode).join(".");

  assert.equal(
    await statusOf(route, { headers: { authorization: `Bearer ${token}` } }),
    503,
  );
  assert.equal(
    await statusOf(
      `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/sidecar`,
    ),
    503,
  );
  assert.equal(await statusOf(`http://127.0.0.1:${port}/denied`), 502);
  assert.deepEqual(server.requests, []);
  const { keySets } = await gateway.dataPlane.call("describeState");
  assert.match(JSON.stringify(keySets), /Denied to connect to /);
  await gateway.stop(0);
}

Deno.test("ports of the gateway itself cannot be named", async () => {
  const { text } = await validateConfiguration(
    textSource(JSON.stringify({
      config: { loopbackPorts: [8080, 15020] },
      gateways: { default: { port: 1 } },
      routes: [{ name: "r", backends: [{ host: "127.0.0.1:9" }] }],
    })),
    {},
  );

  assert.match(
    text,
    /error: .*loopbackPorts\[?\.?1\]?: .*is a port of the gateway itself, which backends must not reach/,
  );
});

Deno.test("endpoints of a Service that are denied get nothing, and the others of it all", async () => {
  await using server = startSidecar();
  const port = freePort();
  // Of 127.0.0.0/8, only one address is open here.
  await using gateway = await startWith({
    egress: { allow: ["127.0.0.1"] },
  }, [
    gatewayAt(port),
    ...serviceAt("mixed", ["127.0.0.2", "127.0.0.1"], server.port),
    ...serviceAt("denied", ["127.0.0.2"], server.port),
  ]);
  const origin = `http://127.0.0.1:${port}`;

  const codes = [];
  for (let count = 0; count < 6; count++) {
    codes.push(await statusOf(`${origin}/mixed`));
  }
  assert.deepEqual(codes, [200, 200, 200, 200, 200, 200]);
  const response = await fetch(`${origin}/denied`);
  await response.body?.cancel();
  assert.equal(response.status, 502);
  assert.equal(response.headers.get("x-gateway-error"), "egress_denied");
  await gateway.stop(0);
});

Deno.test("a name that resolves to a denied address gets nothing, and the log says so once", async () => {
  await using server = startSidecar();
  await using gateway = await startTestGateway({
    config: { egress: { deny: ["127.0.0.0/8", "::1"] }, workers: 1 },
    routes: [{ name: "r", backends: [{ host: `localhost:${server.port}` }] }],
  });

  for (let count = 0; count < 5; count++) {
    assert.equal(await statusOf(`${gateway.origin}/`), 502);
  }

  assert.deepEqual(server.requests, []);
  const warnings = gateway.log.filter((line) =>
    line.includes("Denied a connection")
  );
  assert(warnings.length > 0 && warnings.length <= 2, warnings.join(""));
  assert.match(gateway.accessLog.join(""), /reason=egress_denied/);
});

Deno.test("a file with a backend that its own settings deny is rejected with its position", async () => {
  const policies = {
    jwtAuthentication: {
      providers: [{
        issuer: "https://10.0.0.1",
        audiences: ["a"],
        jwks: { url: "https://keys.example.org/jwks" },
      }],
      mcp: {},
    },
    rateLimit: {
      global: {
        domain: "d",
        store: { service: { host: "limits.example.org:1" } },
        descriptors: [byUser({ requests: 9 })],
      },
    },
  };
  const { text } = await validateConfiguration(
    textSource(JSON.stringify({
      config: { egress: { deny: ["*"], allow: ["*.example.com"] } },
      gateways: { default: { port: 1 } },
      routes: [{
        name: "r",
        policies,
        backends: [{ host: "a.example.com:9" }, { host: "example.org:9" }],
      }],
    })),
    {},
  );

  assert.match(
    text,
    /error: .*host.*Cannot connect to "example\.org": denied by "\*" of config\.egress\.deny/,
  );
  for (
    const field of [
      'jwks.url: Cannot connect to "https://keys.example.org/jwks": denied',
      'issuer: Cannot connect to "https://10.0.0.1": denied',
      'service.host: Cannot connect to "limits.example.org:1": denied',
    ]
  ) assert(text.includes(field), text);
  assert.doesNotMatch(text, /Cannot connect to "a\.example\.com"/);
});

Deno.test("a rate limit service at a denied address is not called", async () => {
  await using service = await startRateLimitService();
  await using upstream = startSidecar();
  await using gateway = await startTestGateway({
    config: { egress: { deny: ["127.0.0.0/8", "::1"] } },
    routes: [{
      name: "r",
      policies: {
        rateLimit: {
          global: {
            domain: "d",
            store: { service: { host: `localhost:${service.port}` } },
            descriptors: [byUser({ requests: 9 })],
          },
        },
      },
      backends: [{ host: `localhost:${upstream.port}` }],
    }],
  });

  const headers = { "x-user": "ada" };
  assert.equal(await statusOf(`${gateway.origin}/`, { headers }), 503);
  assert.match(gateway.log.join(""), /Denied a connection/);
  assert.equal(service.received.length, 0);
});
