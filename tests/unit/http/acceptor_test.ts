import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { TcpAcceptor } from "../../../src/http/server/accept/acceptor.ts";
import { claimAddress } from "../../../src/http/server/accept/claim_address.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

Deno.test("TcpAcceptor takes the next client immediately when others left the queue", async () => {
  const clock = new FakeClock();
  const accepted = Promise.withResolvers<void>();
  const acceptor = new TcpAcceptor(
    { hostname: "127.0.0.1", port: 0, reusePort: false },
    clock,
    {
      onConnection(transport) {
        transport.close();
        accepted.resolve();
      },
      onStall: assert.ifError,
    },
  );
  const { port } = acceptor.address;

  for (let i = 0; i < 20; i++) {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => socket.resetAndDestroy());
    await once(socket, "close");
  }
  using _client = await Deno.connect({ hostname: "127.0.0.1", port });
  await accepted.promise;

  assert.equal(clock.pending, 0);
  await acceptor.close();
});

Deno.test("claimAddress finds a free port, which several servers may then share", async () => {
  const port = await claimAddress({ hostname: "127.0.0.1", port: 0 });
  const shared = { hostname: "127.0.0.1", port, reusePort: true };
  await using first = new TestServer();
  await using second = new TestServer();

  await first.server.start(shared);
  await second.server.start(shared);

  assert.deepEqual(first.server.addresses, second.server.addresses);
  await assert.rejects(claimAddress(shared), Deno.errors.AddrInUse);
});

Deno.test("HttpServer shares a TLS port with another", async () => {
  const certificate = await (await createAuthority()).issueServer([
    "a.example",
  ]);
  const tls = { certificates: [certificate] } as const;
  await using first = new TestServer();
  await using second = new TestServer();
  await first.server.start(
    { hostname: "127.0.0.1", port: 0, reusePort: true },
    tls,
  );

  await second.server.start(
    { hostname: "127.0.0.1", port: first.port, reusePort: true },
    tls,
  );

  assert.equal(second.port, first.port);
});

Deno.test("HttpServer counts TLS handshakes for the share of an address", async () => {
  const certificate = await (await createAuthority()).issueServer([
    "a.example",
  ]);
  await using test = await TestServer.start({
    limits: { maxConnections: 10, maxConnectionsPerAddress: 1 },
  }, { certificates: [certificate] });
  using _first = await Deno.connect({ hostname: "127.0.0.1", port: test.port });
  using second = await Deno.connect({ hostname: "127.0.0.1", port: test.port });

  assert.equal(await second.read(new Uint8Array(1)).catch(() => null), null);
  assert.equal(test.server.connections.refused, 1);
});
