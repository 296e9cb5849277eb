import assert from "node:assert/strict";
import { gatewayApiVersion } from "../../../src/api/schema/group.ts";
import type { Outcomes } from "../../../src/compile/outcomes/outcomes.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import {
  createAuthority,
  type KeyPair,
} from "../../harness/login/certificates.ts";
import {
  ChangingObjects,
  readObjects,
} from "../../harness/gateway/changing_objects.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { TlsClient } from "../../harness/clients/tls_client.ts";

/** Starts a gateway with resources as a cluster has them. */
async function startWith(resources: readonly object[]) {
  const source = new ChangingObjects();
  source.replace(
    await readObjects(
      resources.map((each) => JSON.stringify(each)).join("\n---\n"),
    ),
  );
  let outcomes: Outcomes | undefined;
  const gateway = await Gateway.start({
    config: source,
    onApplied: (applied) => outcomes = applied,
  });
  return Object.assign(gateway, {
    conditions: () =>
      outcomes?.gateways.map(({ conditions }) =>
        conditions.map(({ type, status, reason }) =>
          `${type}=${status}/${reason}`
        )
      ),
  });
}

function gatewayAt(name: string, port: number, spec: object, listener = {}) {
  return {
    apiVersion: gatewayApiVersion,
    kind: "Gateway",
    metadata: { name },
    spec: {
      addresses: [{ value: "127.0.0.1" }],
      listeners: [{ name: "l", port, protocol: "HTTP", ...listener }],
      ...spec,
    },
  };
}

function routeTo(port: number, ...gateways: readonly string[]) {
  return [
    {
      apiVersion: gatewayApiVersion,
      kind: "HTTPRoute",
      metadata: { name: "r" },
      spec: {
        parentRefs: gateways.map((name) => ({ name })),
        rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { ports: [{ port: 80 }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: "web-1",
        labels: { "kubernetes.io/service-name": "web" },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
      ports: [{ port }],
    },
  ];
}

function secret(name: string, { cert, key }: KeyPair) {
  const stringData = { "tls.crt": cert, "tls.key": key };
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData };
}

function authorityMap(name: string, cert: string) {
  const data = { "ca.crt": cert };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

const authority = await createAuthority();
const otherAuthority = await createAuthority("Other CA");
const server = await authority.issueServer(["localhost", "tools.example"]);
const clients = {
  alice: await authority.issueClient("alice"),
  bob: await otherAuthority.issueClient("bob"),
  mallory: await (await createAuthority("Unknown CA")).issueClient("mallory"),
  nobody: {},
};

function echo(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("ok"),
  );
}

/** Names of the clients that a gateway with these client certificates serves. */
async function servedBy(frontend: (port: number) => object) {
  await using upstream = echo();
  const port = freePort();
  const tls = { frontend: frontend(port) };
  await using gateway = await startWith([
    gatewayAt("gw", port, { tls }, {
      protocol: "HTTPS",
      tls: { certificateRefs: [{ name: "server" }] },
    }),
    ...routeTo(upstream.addr.port, "gw"),
    secret("server", server),
    authorityMap("ca", authority.cert),
    authorityMap("other", otherAuthority.cert),
  ]);
  const served: string[] = [];
  for (const [name, pair] of Object.entries(clients)) {
    using client = new TlsClient(port, { ca: authority.cert, ...pair });
    const status = await client.get().catch(() => "rejected");
    if (status.startsWith("200")) served.push(name);
  }
  return { served, conditions: gateway.conditions()?.[0]?.slice(2) };
}

function validation(...names: readonly string[]) {
  return { caCertificateRefs: names.map((name) => ({ name })) };
}

const insecure = { ...validation("ca"), mode: "AllowInsecureFallback" };
const insecureCondition =
  "InsecureFrontendValidationMode=true/ConfigurationChanged";

for (
  const { name, frontend, served, conditions = [] } of [
    {
      name: "AllowValidOnly, the default: those with a valid certificate",
      frontend: () => ({ default: { validation: validation("ca") } }),
      served: ["alice"],
    },
    {
      name: "several authorities: those of each",
      frontend: () => ({ default: { validation: validation("ca", "other") } }),
      served: ["alice", "bob"],
    },
    {
      name: "AllowInsecureFallback: all",
      frontend: () => ({ default: { validation: insecure } }),
      served: ["alice", "bob", "mallory", "nobody"],
      conditions: [insecureCondition],
    },
    {
      name: "perPort, in place of the default",
      frontend: (port: number) => ({
        default: { validation: insecure },
        perPort: [{ port, tls: { validation: validation("other") } }],
      }),
      served: ["bob"],
      conditions: [insecureCondition],
    },
    {
      name: "perPort without a validation: all",
      frontend: (port: number) => ({
        default: { validation: validation("ca") },
        perPort: [{ port, tls: {} }],
      }),
      served: ["alice", "bob", "mallory", "nobody"],
    },
    {
      name: "an authority that does not exist: nobody",
      frontend: () => ({ default: { validation: validation("none") } }),
      served: [],
    },
  ]
) {
  Deno.test(`tls.frontend of a gateway admits with ${name}`, async () => {
    assert.deepEqual(await servedBy(frontend), { served, conditions });
  });
}

Deno.test("a gateway presents its client certificate, and no other gateway uses its connections", async () => {
  await using upstream = await NodeUpstream.overTls({
    ...server,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const [known, unknown, broken] = [freePort(), freePort(), freePort()];
  const backend = (name: string) => ({
    tls: { backend: { clientCertificateRef: { name } } },
  });
  await using gateway = await startWith([
    gatewayAt("known", known, backend("client")),
    gatewayAt("unknown", unknown, {}),
    gatewayAt("broken", broken, backend("none")),
    ...routeTo(upstream.port, "known", "unknown", "broken"),
    secret("client", clients.alice),
    authorityMap("ca", authority.cert),
    {
      apiVersion: gatewayApiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "web" },
      spec: {
        targetRefs: [{ group: "", kind: "Service", name: "web" }],
        validation: {
          hostname: "tools.example",
          caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }],
        },
      },
    },
  ]);
  const succeeded: boolean[] = [];
  for (const port of [known, unknown, broken, known]) {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.body?.cancel();
    succeeded.push(response.ok);
  }
  assert.deepEqual(succeeded, [true, false, false, true]);
  assert.deepEqual(gateway.conditions()?.map(([, , resolved]) => resolved), [
    "ResolvedRefs=true/ResolvedRefs",
    undefined,
    "ResolvedRefs=false/InvalidClientCertificateRef",
  ]);
});
