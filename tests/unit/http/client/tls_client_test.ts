import assert from "node:assert/strict";
import {
  describeError,
  type GatewayError,
} from "../../../../src/base/errors.ts";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import type { UpstreamTls } from "../../../../src/http/client/upstream.ts";
import {
  type CertificateAuthority,
  createAuthority,
} from "../../../harness/login/certificates.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

const NAME = "b.example";

/** Creates TLS options that trust the given authority. */
function tlsOf(
  authority: CertificateAuthority,
  changes: Partial<UpstreamTls> = {},
): UpstreamTls {
  return {
    hostname: NAME,
    subjectAltNames: [],
    caCertificates: [authority.cert],
    ...changes,
  };
}

Deno.test("Upstream verifies the configured name and sends it as server name", async () => {
  const authority = await createAuthority();
  await using server = await serverWith(authority, [NAME]);
  using upstream = upstreamAt(server.port, { tls: tlsOf(authority) });

  assert.equal(await exchange(upstream), `200 ${NAME}`);
  assert.equal(await exchange(upstream), `200 ${NAME}`);
  assert.equal(upstream.stats.connects, 1);
});

const accepted: readonly {
  readonly name: string;
  readonly certificate: readonly string[];
  readonly tls: Partial<UpstreamTls>;
}[] = [
  {
    name: "a wildcard name",
    certificate: ["*.b.example"],
    tls: { hostname: "c.b.example" },
  },
  {
    name: "an address as the name",
    certificate: ["127.0.0.1"],
    tls: { hostname: "127.0.0.1" },
  },
  {
    name: "an alternative hostname instead of the name",
    certificate: ["c.example"],
    tls: { subjectAltNames: ["a.example", "c.example"] },
  },
  {
    name: "an alternative URI instead of the name",
    certificate: ["spiffe://cluster/ns/a"],
    tls: { subjectAltNames: ["spiffe://cluster/ns/a"] },
  },
];

for (const { name, certificate, tls } of accepted) {
  Deno.test(`Upstream accepts a certificate with ${name}`, async () => {
    const authority = await createAuthority();
    await using server = await serverWith(authority, certificate);
    const settings = { tls: tlsOf(authority, tls) };
    using upstream = upstreamAt(server.port, settings);

    assert.match(await exchange(upstream), /^200 /);
  });
}

const rejected: readonly {
  readonly name: string;
  readonly certificate: readonly string[];
  readonly tls: Partial<UpstreamTls>;
  readonly message: RegExp;
}[] = [
  {
    name: "for another name",
    certificate: ["c.example"],
    tls: {},
    message: /Cannot establish TLS with "127.*b\.example.*c\.example/s,
  },
  {
    name: "for the address only",
    certificate: ["127.0.0.1"],
    tls: {},
    message: /b\.example/,
  },
  {
    name: "for the name but none of the alternative names",
    certificate: [NAME],
    tls: { subjectAltNames: ["c.example"] },
    message: /names are DNS:b\.example/,
  },
  {
    name: "for another URI",
    certificate: ["spiffe://cluster/ns/b", NAME],
    tls: { subjectAltNames: ["spiffe://cluster/ns/a"] },
    message: /Certificate does not match/,
  },
  {
    name: "that the system does not trust",
    certificate: [NAME],
    tls: { caCertificates: undefined },
    message: /verify/,
  },
  {
    name: "when no CA is trusted",
    certificate: [NAME],
    tls: { caCertificates: [] },
    message: /verify/,
  },
];

for (const { name, certificate, tls, message } of rejected) {
  Deno.test(`Upstream rejects a certificate ${name}`, async () => {
    const authority = await createAuthority();
    await using server = await serverWith(authority, certificate);
    const settings = { tls: tlsOf(authority, tls) };
    using upstream = upstreamAt(server.port, settings);

    assertRejected(await failureOf(exchange(upstream)), message);
    assert.equal(upstream.stats.idle + upstream.stats.active, 0);
  });
}

Deno.test("Upstream rejects a certificate of another authority", async () => {
  const authority = await createAuthority();
  const other = await createAuthority("Other CA");
  await using server = await serverWith(authority, [NAME]);
  using upstream = upstreamAt(server.port, { tls: tlsOf(other) });

  assertRejected(await failureOf(exchange(upstream)), /verify/);
});

Deno.test("Upstream rejects a certificate that expired", async () => {
  const authority = await createAuthority();
  await using server = await NodeUpstream.overTls(
    await authority.issueExpired([NAME]),
  );
  using upstream = upstreamAt(server.port, { tls: tlsOf(authority) });

  assertRejected(await failureOf(exchange(upstream)), /verify/);
});

Deno.test("Upstream never falls back to plain text", async () => {
  let received = "";
  await using server = new RawUpstream(async (connection) => {
    received = await connection.take(5);
    await connection.send(answer());
    await connection.closedByPeer();
  });
  const authority = await createAuthority();
  using upstream = upstreamAt(server.port, { tls: tlsOf(authority) });

  const failure = await failureOf(exchange(upstream));

  assertRejected(failure, /./);
  assert.ok(received.startsWith("\x16\x03"), "Expected a ClientHello");
});

Deno.test("Upstream fails when the peer closes during the handshake", async () => {
  await using server = new RawUpstream(async (connection) => {
    await connection.take(5);
  });
  const authority = await createAuthority();
  using upstream = upstreamAt(server.port, { tls: tlsOf(authority) });

  assertRejected(await failureOf(exchange(upstream)), /./);
});

Deno.test("Upstream aborts a handshake that does not end", async () => {
  const clock = new FakeClock();
  const started = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.take(5);
    started.resolve();
    await connection.closedByPeer();
    closed.resolve();
  });
  const tls = tlsOf(await createAuthority());
  using upstream = upstreamAt(server.port, { tls }, clock);
  const failure = failureOf(exchange(upstream));
  await started.promise;

  clock.advance(10_000);

  assert.equal((await failure).code, "upstream_timeout");
  await closed.promise;
});

Deno.test("Upstream aborts a handshake when the client disconnects", async () => {
  const started = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.take(5);
    started.resolve();
    await connection.closedByPeer();
    closed.resolve();
  });
  const tls = tlsOf(await createAuthority());
  using upstream = upstreamAt(server.port, { tls });
  const cancellation = new Cancellation();
  const failure = failureOf(send(upstream, {}, undefined, cancellation));
  await started.promise;

  cancellation.cancel("gone");

  assert.equal((await failure).code, "client_closed");
  await closed.promise;
});

Deno.test("Upstream distinguishes an unreachable port from an invalid certificate", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  using upstream = upstreamAt(port, { tls: tlsOf(await createAuthority()) });

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_connect_failed");
});

Deno.test("Upstream presents its certificate on request", async () => {
  const authority = await createAuthority();
  await using server = await NodeUpstream.overTls({
    ...await authority.issueServer([NAME]),
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const clientCertificate = await authority.issueClient("gateway");
  const tls = tlsOf(authority, { clientCertificate });
  using known = upstreamAt(server.port, { tls });
  using unknown = upstreamAt(server.port, { tls: tlsOf(authority) });

  assert.equal(await exchange(known), `200 ${NAME}`);
  const failure = await failureOf(exchange(unknown));
  assert.match(failure.code, /^upstream_/);
});

Deno.test("Upstream reports a server that does not speak TLS", async () => {
  const authority = await createAuthority();
  await using server = new RawUpstream(async (connection) => {
    await connection.send(answer("HTTP only"));
    await connection.closedByPeer();
  });
  using upstream = upstreamAt(server.port, { tls: tlsOf(authority) });

  const failure = await failureOf(exchange(upstream));

  assert.equal(failure.code, "upstream_tls_failed");
  assert.equal(
    describeError(failure),
    `"127.0.0.1:${server.port}" does not speak TLS: it may be a plain HTTP port`,
  );
});

async function serverWith(
  authority: CertificateAuthority,
  names: readonly string[],
): Promise<NodeUpstream> {
  return await NodeUpstream.overTls(await authority.issueServer(names));
}

function assertRejected(failure: GatewayError, message: RegExp): void {
  assert.equal(failure.code, "upstream_tls_failed");
  assert.equal(failure.source, "upstream");
  assert.match(describeError(failure), message);
}
