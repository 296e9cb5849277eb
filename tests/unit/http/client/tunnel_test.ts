import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { writeAll } from "../../../../src/http/transport.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import {
  exchange,
  send,
  upstreamAt,
} from "../../../harness/clients/upstream_requests.ts";

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n" +
  "Connection: Upgrade\r\nX-A: 1\r\n\r\n";

Deno.test("Upstream opens a tunnel when the peer switches protocols", async () => {
  let request = "";
  await using server = new RawUpstream(async (connection) => {
    request = await connection.request();
    await connection.send(SWITCH + "early");
    await connection.send(await connection.take(4));
  });
  using upstream = upstreamAt(server.port);

  const response = await send(upstream, { upgrade: "echo" });
  const { tunnel } = response;

  assert.match(request, /Connection: Upgrade\r\nUpgrade: echo\r\n/);
  assert.equal(response.status, 101);
  assert.deepEqual([...response.headers], [["X-A", "1"]]);
  assert.ok(tunnel !== undefined);
  assert.equal(new TextDecoder().decode(tunnel.early), "early");
  await writeAll(tunnel.transport, new TextEncoder().encode("ping"));
  assert.equal(await readSome(tunnel.transport), "ping");
  assert.equal(upstream.stats.active, 1);
  tunnel.transport.close();
  tunnel.transport.close();
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream responds normally when the peer does not switch", async () => {
  await using server = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer());
    }
  });
  using upstream = upstreamAt(server.port);

  assert.equal(await exchange(upstream, { upgrade: "echo" }), "200 ok");
  assert.equal(await exchange(upstream), "200 ok");
  assert.equal(server.accepted, 1);
});

Deno.test("Upstream closes a tunnel when its client disconnects", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(SWITCH);
    await connection.closedByPeer();
    closed.resolve();
  });
  using upstream = upstreamAt(server.port);
  const cancellation = new Cancellation();
  const request = { upgrade: "echo" };
  await send(upstream, request, undefined, cancellation);

  cancellation.cancel("gone");

  await closed.promise;
  assert.equal(upstream.stats.active, 0);
});

Deno.test("Upstream tunnels a WebSocket", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
      return response;
    },
  );
  using upstream = upstreamAt(server.addr.port);
  const headers = new HeaderList([
    "Sec-WebSocket-Version",
    "13",
    "Sec-WebSocket-Key",
    "dGhlIHNhbXBsZSBub25jZQ==",
  ]);

  const response = await send(upstream, { upgrade: "websocket", headers });
  const transport = response.tunnel?.transport;
  assert.ok(transport !== undefined);
  await writeAll(transport, maskedTextFrame("hi"));

  assert.equal(
    response.headers.get("sec-websocket-accept"),
    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
  );
  assert.equal(await readSome(transport), "\x81\x07echo hi");
  transport.close();
});

/** A text frame of a client (RFC 6455 section 5.2), masked with zeros. */
function maskedTextFrame(text: string): Uint8Array {
  const payload = new TextEncoder().encode(text);
  return Uint8Array.of(0x81, 0x80 | payload.length, 0, 0, 0, 0, ...payload);
}

async function readSome(
  transport: { read(into: Uint8Array): Promise<number | null> },
): Promise<string> {
  const buffer = new Uint8Array(1024);
  const count = await transport.read(buffer) ?? 0;
  return new TextDecoder("latin1").decode(buffer.subarray(0, count));
}
