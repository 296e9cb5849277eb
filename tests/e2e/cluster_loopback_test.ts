import assert from "node:assert/strict";
import { Gateway } from "../../src/gateway/gateway.ts";
import { textSource, validateConfiguration } from "../../mod.ts";
import { ChangingObjects, readObjects } from "../harness/changing_objects.ts";
import { freePort } from "../harness/free_port.ts";

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
  const fromCluster = <R extends { readonly metadata: { name: string } }>(
    items: readonly R[],
  ) =>
    items.map((item) => ({
      ...item,
      metadata: { ...item.metadata, uid: item.metadata.name },
    }));
  const source = new ChangingObjects(config);
  source.replace({
    ...resources,
    gatewayBackends: fromCluster(resources.gatewayBackends),
    gatewayPolicies: fromCluster(resources.gatewayPolicies),
  });
  return await Gateway.start({ config: source });
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
  assert.equal(await statusOf(`${origin}/other`), 503);
  assert.equal(await statusOf(`${origin}/self`), 503);
  assert.deepEqual(sidecar.requests, ["GET /sidecar"]);
  assert.deepEqual(other.requests, []);
  await gateway.stop(0);
});

Deno.test("policies of a cluster fetch nothing from the loopback interface", async () => {
  await using server = startSidecar();
  const port = freePort();
  const origin = `http://127.0.0.1:${server.port}`;
  await using gateway = await startWith({ loopbackPorts: [server.port] }, [
    gatewayAt(port),
    ...backendAt("sidecar", server.port),
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
  assert.deepEqual(server.requests, []);
  await gateway.stop(0);
});

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
