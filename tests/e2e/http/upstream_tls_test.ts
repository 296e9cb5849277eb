import assert from "node:assert/strict";
import { gatewayApiVersion } from "../../../src/api/schema/group.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { createConfigFolder } from "../../harness/gateway/file_gateway.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const NAME = "tools.example";
const authority = await createAuthority();
const good = await authority.issueServer([NAME]);

/** A gateway whose backend has a BackendTLSPolicy. */
function gatewayTo(
  { port }: { readonly port: number },
  validation: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
): Promise<TestGateway> {
  return startTestGateway(
    {
      backends: [{
        name: "tools",
        static: { host: "127.0.0.1", port },
        ...more,
      }],
      routes: [{ backends: [{ backend: "tools" }] }],
    },
    {},
    [{
      apiVersion: gatewayApiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "tools" },
      spec: {
        targetRefs: [{ name: "tools" }],
        validation: {
          hostname: NAME,
          caCertificateRefs: [{ inline: authority.cert }],
          ...validation,
        },
      },
    }],
  );
}

async function assertRejected(gateway: TestGateway): Promise<void> {
  const response = await fetch(gateway.origin);
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("x-gateway-error"), "upstream_tls_failed");
  assert.equal(await response.text(), "upstream tls failed");
}

Deno.test("gateway sends the name of its BackendTLSPolicy and verifies it with the authority of a file", async () => {
  const { folder, file } = await createConfigFolder(authority.cert);
  await using upstream = await NodeUpstream.overTls(good);
  await using gateway = await gatewayTo(upstream, {
    caCertificateRefs: [{ file }],
  });

  const response = await fetch(gateway.origin);

  assert.equal(response.status, 200);
  assert.equal(await response.text(), NAME);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("health checks verify the endpoint as requests do", async () => {
  const healthCheck = { path: "/", interval: "10ms" };
  for (
    const [name, expected] of [[NAME, "healthy"], ["x.example", "unhealthy"]]
  ) {
    await using upstream = await NodeUpstream.overTls(good);
    await using gateway = await gatewayTo(
      upstream,
      { hostname: name },
      { healthCheck },
    );
    const { dataPlane } = gateway.gateway;
    let [endpoint] = (await dataPlane.call("tasks", 0)).upstreams;
    while (endpoint?.check === null) {
      await new Promise((resolve) => setTimeout(resolve));
      [endpoint] = (await dataPlane.call("tasks", 0)).upstreams;
    }
    assert.equal(endpoint?.health, expected, endpoint?.check.failure ?? "");
  }
});

const otherAuthority = await createAuthority("Other CA");

for (
  const { name, pair, validation = {} } of [
    {
      name: "is from another authority",
      pair: await otherAuthority.issueServer([NAME]),
    },
    {
      name: "is for another name",
      pair: await authority.issueServer(["b.example"]),
    },
    {
      name: "is for the address alone",
      pair: await authority.issueServer(["127.0.0.1"]),
    },
    { name: "expired", pair: await authority.issueExpired([NAME]) },
    {
      name: "the system does not trust",
      pair: good,
      validation: {
        caCertificateRefs: undefined,
        wellKnownCACertificates: "System",
      },
    },
    {
      name: "is for none of the alternative names",
      pair: good,
      validation: {
        subjectAltNames: [{ type: "Hostname", hostname: "c.example" }],
      },
    },
  ]
) {
  Deno.test(`gateway does not connect to a backend whose certificate ${name}`, async () => {
    await using upstream = await NodeUpstream.overTls(pair);
    await using gateway = await gatewayTo(upstream, validation);

    await assertRejected(gateway);
  });
}

Deno.test("gateway never falls back to plain text", async () => {
  const received: string[] = [];
  await using upstream = new RawUpstream(async (connection) => {
    received.push(await connection.take(1));
    await connection.send(answer("plain"));
  });
  await using gateway = await gatewayTo(upstream);

  await assertRejected(gateway);

  // The first byte of a TLS record that begins a handshake, never of a request.
  assert.deepEqual(received, ["\x16"]);
});

Deno.test("gateway uses HTTP/2 to a backend that offers it, on one connection", async () => {
  await using upstream = await NodeUpstream.http2OverTls((stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(`${headers[":method"]} ${headers[":path"]}`);
  }, good);
  await using gateway = await gatewayTo(upstream);
  const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);

  const answers = await Promise.all(paths.map(async (path) => {
    const response = await fetch(`${gateway.origin}${path}`);
    return await response.text();
  }));

  assert.deepEqual(answers, paths.map((path) => `GET ${path}`));
  assert.equal(upstream.connections, 1);
});

Deno.test("gateway uses HTTP/1.1 to a backend that offers nothing else", async () => {
  await using upstream = await NodeUpstream.overTls({
    ...good,
    ALPNProtocols: ["http/1.1"],
  });
  await using gateway = await gatewayTo(upstream);

  const response = await fetch(gateway.origin);

  assert.equal(await response.text(), NAME);
});
