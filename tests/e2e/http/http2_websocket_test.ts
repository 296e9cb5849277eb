import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  ERROR_CODES,
  FRAME_TYPES,
} from "../../../src/http/http2/frames/http2_protocol.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  data,
  headers,
  Http2Client,
} from "../../harness/clients/http2_client.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

const connectFields = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "https"],
  [":path", "/chat"],
  [":authority", "localhost"],
  ["sec-websocket-version", "13"],
] as const;

function startGateway(port: number) {
  return startTestGateway(
    { routes: [{ backends: [{ host: `127.0.0.1:${port}` }] }] },
    { protocol: "HTTPS", tls: own },
  );
}

Deno.test("gateway opens a WebSocket over HTTP/2 (RFC 8441), beside other requests", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      if (request.headers.get("upgrade") !== "websocket") {
        return new Response("plain");
      }
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => socket.send(`${data}!`);
      return response;
    },
  );
  await using gateway = await startGateway(server.addr.port);
  using client = await Http2Client.connect(gateway.port, authority.cert);

  await client.send(headers(1, connectFields, false));
  const fields = await client.fields(1);
  // A masked text frame with "hi", whose mask is zero.
  await client.send(data(1, "\x81\x82\0\0\0\0hi", false));
  const message = await client.receive(FRAME_TYPES.data, 1);
  await client.send(headers(3, [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", "/"],
    [":authority", "localhost"],
  ]));
  const plain = await client.receive(FRAME_TYPES.data, 3);
  // A close frame, and the end of our side.
  await client.send(data(1, "\x88\x82\0\0\0\0\x03\xe8", true));
  const closing = await client.receive(FRAME_TYPES.data, 1);

  assert.deepEqual(fields.slice(0, 2), [":status", "200"]);
  assert.equal(fields.includes("sec-websocket-accept"), false);
  assert.equal(Buffer.from(message.payload).toString("latin1"), "\x81\x03hi!");
  assert.equal(Buffer.from(plain.payload).toString(), "plain");
  assert.equal(closing.payload[0], 0x88);
});

Deno.test("gateway never returns 200 to an HTTP/2 client when the backend opens no WebSocket", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(answer("no"));
  });
  await using gateway = await startGateway(upstream.port);
  using client = await Http2Client.connect(gateway.port, authority.cert);

  await client.send(headers(1, connectFields, false));

  assert.deepEqual((await client.fields(1)).slice(0, 2), [":status", "502"]);
});

Deno.test("gateway resets the WebSocket of an HTTP/2 client when the backend accepts another key", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
        "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
    );
    await connection.closedByPeer();
  });
  await using gateway = await startGateway(upstream.port);
  using client = await Http2Client.connect(gateway.port, authority.cert);

  await client.send(headers(1, connectFields, false));

  assert.equal(
    await client.verdict(),
    `reset 1 ${ERROR_CODES.internalError}`,
  );
});
