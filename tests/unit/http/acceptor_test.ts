import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { TcpAcceptor } from "../../../src/http/server/accept/acceptor.ts";
import { FakeClock } from "../../harness/fake_clock.ts";

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
