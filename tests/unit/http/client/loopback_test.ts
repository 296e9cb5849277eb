import assert from "node:assert/strict";
import { createAuthority } from "../../../harness/certificates.ts";
import { NodeUpstream } from "../../../harness/node_upstreams.ts";
import { answer, RawUpstream } from "../../../harness/raw_upstream.ts";
import {
  exchange,
  failureOf,
  upstreamAt,
} from "../../../harness/upstream_requests.ts";

for (const host of ["127.0.0.1", "localhost", "0.0.0.0"]) {
  Deno.test(`an upstream that must be elsewhere gets nothing at ${host}`, async () => {
    let heads = 0;
    await using server = new RawUpstream(async (connection) => {
      await connection.head();
      heads++;
      await connection.send(answer("reached"));
    });
    using upstream = upstreamAt(server.port, { host, forbidsLoopback: true });

    const { code, cause } = await failureOf(exchange(upstream));

    assert.equal(code, "upstream_connect_failed");
    assert.match(String(cause), /cannot be on the loopback interface/);
    assert.equal(heads, 0);
  });
}

for (const offset of [0, 1]) {
  Deno.test(`an upstream that must be elsewhere gets ${offset === 0 ? "requests at its own port" : "nothing at another port"} if one is named`, async () => {
    await using server = new RawUpstream(async (connection) => {
      await connection.head();
      await connection.send(answer("reached"));
    });
    using upstream = upstreamAt(server.port, {
      host: "127.0.0.1",
      forbidsLoopback: true,
      loopbackPorts: [server.port + offset],
    });

    if (offset === 0) {
      assert.equal(await exchange(upstream), "200 reached");
    } else {
      assert.match(
        String((await failureOf(exchange(upstream))).cause),
        /cannot be on the loopback interface/,
      );
    }
  });
}

Deno.test("an upstream that must be elsewhere gets nothing over TLS", async () => {
  const authority = await createAuthority();
  await using server = await NodeUpstream.overTls(
    await authority.issueServer(["b.example"]),
  );
  using upstream = upstreamAt(server.port, {
    forbidsLoopback: true,
    tls: {
      hostname: "b.example",
      subjectAltNames: [],
      caCertificates: [authority.cert],
    },
  });

  const { cause } = await failureOf(exchange(upstream));

  assert.match(String(cause), /cannot be on the loopback interface/);
});
