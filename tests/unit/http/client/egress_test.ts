import assert from "node:assert/strict";
import { EgressPolicy } from "../../../../src/base/wire/egress_policy.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  failureOf,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

/** The policy of a cluster. */
function clusterEgress() {
  const egress = new EgressPolicy({ settings: { allow: [], deny: [] } });
  egress.reserve([]);
  return egress;
}

/** A server that counts connections. */
function countingServer() {
  const counts = { connections: 0 };
  const server = new RawUpstream(async (connection) => {
    counts.connections++;
    await connection.head();
    await connection.send(answer("reached"));
  });
  return Object.assign(server, { counts });
}

for (const host of ["127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1"]) {
  Deno.test(`a backend of a cluster gets no connection at ${host}`, async () => {
    await using server = countingServer();
    using upstream = upstreamAt(server.port, {
      host,
      egress: clusterEgress(),
    });

    const { code, message } = await failureOf(exchange(upstream));

    assert.equal(code, "egress_denied");
    assert.match(message, /^Denied to connect to /);
    assert.equal(server.counts.connections, 0);
  });
}

Deno.test("a name whose second look-up has another address does not reach it", async () => {
  await using server = countingServer();
  const answers = ["127.0.0.2", "127.0.0.1"];
  const egress = new EgressPolicy({
    settings: { allow: [], deny: ["127.0.0.1"] },
    lookup: () => Promise.resolve(answers.splice(0, 1)),
  });
  using upstream = upstreamAt(server.port, { host: "rebound.example", egress });

  // The address that was checked is the one that it connects to, though the name has another one by then.
  const first = await failureOf(exchange(upstream));
  const second = await failureOf(exchange(upstream));

  assert.equal(first.code, "upstream_connect_failed");
  assert.equal(second.code, "egress_denied");
  assert.match(second.message, /"rebound\.example:\d+" at 127\.0\.0\.1: /);
  assert.equal(server.counts.connections, 0);
});

Deno.test("of the addresses of a name, only those that are allowed get connections", async () => {
  await using server = countingServer();
  const egress = new EgressPolicy({
    settings: { allow: ["127.0.0.1"], deny: ["127.0.0.0/8", "::/0"] },
    lookup: () => Promise.resolve(["::1", "127.0.0.2", "127.0.0.1"]),
  });
  using upstream = upstreamAt(server.port, { host: "mixed.example", egress });

  assert.equal(await exchange(upstream), "200 reached");
});

for (const offset of [0, 1]) {
  Deno.test(`a backend of a cluster gets ${offset === 0 ? "requests at its own port" : "nothing at another port"} of the loopback interface if one is named`, async () => {
    await using server = countingServer();
    using upstream = upstreamAt(server.port, {
      host: "127.0.0.1",
      egress: clusterEgress(),
      loopbackPorts: [server.port + offset],
    });

    if (offset === 0) {
      assert.equal(await exchange(upstream), "200 reached");
    } else {
      assert.equal((await failureOf(exchange(upstream))).code, "egress_denied");
    }
  });
}

Deno.test("a backend of a cluster gets no connection over TLS", async () => {
  const authority = await createAuthority();
  await using server = await NodeUpstream.overTls(
    await authority.issueServer(["b.example"]),
  );
  const tls = {
    hostname: "b.example",
    subjectAltNames: [],
    caCertificates: [authority.cert],
  };
  using denied = upstreamAt(server.port, { egress: clusterEgress(), tls });

  assert.equal((await failureOf(exchange(denied))).code, "egress_denied");

  const egress = new EgressPolicy({
    settings: { allow: [], deny: ["10.0.0.0/8"] },
    lookup: () => Promise.resolve(["127.0.0.1"]),
  });
  using allowed = upstreamAt(server.port, { host: "b.example", egress, tls });
  assert.match(await exchange(allowed), /^200/);
});
