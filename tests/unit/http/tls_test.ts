import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import {
  createAuthority,
  type KeyPair,
} from "../../harness/login/certificates.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

const authority = await createAuthority();
const first = await authority.issueServer(["localhost", "a.example"]);
const second = await authority.issueServer(["b.example", "*.w.example"]);

/** Shakes hands and tells which names the server's certificate has. */
async function handshake(
  port: number,
  servername: string,
  pair?: KeyPair,
): Promise<string> {
  const socket = tls.connect({
    port,
    host: "127.0.0.1",
    servername,
    ca: authority.cert,
    checkServerIdentity: () => undefined,
    ...pair,
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().subjectaltname ?? "";
  } finally {
    socket.destroy();
    await closed;
  }
}

/** Returns whether a client with that certificate gets a response. */
async function isServed(port: number, pair?: KeyPair): Promise<boolean> {
  const socket = tls.connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: authority.cert,
    ...pair,
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  let received = "";
  socket.on("data", (bytes: Uint8Array) => {
    received += String(bytes);
    socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("end", () => socket.destroy());
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await closed;
  return received.startsWith("HTTP/1.1 200");
}

Deno.test("HttpServer shows the certificate for the name that is requested", async () => {
  await using test = await TestServer.start({}, {
    certificates: [first, second],
  });

  assert.match(await handshake(test.port, "a.example"), /a\.example/);
  assert.match(await handshake(test.port, "B.example"), /b\.example/);
  assert.match(await handshake(test.port, "x.w.example"), /b\.example/);
  assert.match(await handshake(test.port, "y.x.w.example"), /b\.example/);
  // A client without a known server name gets the first certificate.
  assert.match(await handshake(test.port, "w.example"), /a\.example/);
  assert.match(await handshake(test.port, "c.example"), /a\.example/);
});

Deno.test("HttpServer changes certificates and keeps connections", async () => {
  await using test = await TestServer.start({}, { certificates: [first] });
  using client = await RawClient.connect(test.port, authority.cert);
  const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  await client.send(request);
  await client.receive();

  test.server.prepareTls({ certificates: [second] })();

  assert.match(await handshake(test.port, "a.example"), /b\.example/);
  await client.send(request);
  assert.equal((await client.receive())?.status, 200);
});

Deno.test("HttpServer keeps its certificates when the new ones are broken", async () => {
  await using test = await TestServer.start({}, { certificates: [first] });

  assert.throws(
    () =>
      test.server.prepareTls({
        certificates: [{ cert: "x", key: "y" }],
      }),
    /Cannot use the certificate/,
  );

  assert.match(await handshake(test.port, "a.example"), /a\.example/);
});

Deno.test("HttpServer asks clients for certificates", async (t) => {
  const good = await authority.issueClient("alice");
  const forged = await (await createAuthority("Other CA")).issueClient(
    "mallory",
  );
  const cases = [
    { mode: "required", pair: good, served: true },
    { mode: "required", pair: forged, served: false },
    { mode: "required", pair: undefined, served: false },
    { mode: "optional", pair: good, served: true },
    { mode: "optional", pair: forged, served: false },
    { mode: "optional", pair: undefined, served: true },
  ] as const;
  for (const { mode, pair, served } of cases) {
    const name = pair === good ? "a good one" : pair ? "a forged one" : "none";
    await t.step(`${mode}, ${name}`, async () => {
      await using test = await TestServer.start({}, {
        certificates: [first],
        clientCertificates: { mode, ca: authority.cert },
      });
      assert.equal(await isServed(test.port, pair), served);
    });
  }
});

Deno.test("HttpServer rejects TLS below the minimum", async () => {
  await using test = await TestServer.start({}, {
    certificates: [first],
    minVersion: "TLSv1.3",
  });
  const socket = tls.connect({
    port: test.port,
    host: "127.0.0.1",
    ca: authority.cert,
    servername: "localhost",
    maxVersion: "TLSv1.2",
  });

  await assert.rejects(once(socket, "secureConnect"));
  socket.destroy();
});

Deno.test("HttpServer closes what does not shake hands", async (t) => {
  for (
    const [name, bytes] of [
      ["plain HTTP", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
      ["silence", ""],
    ] as const
  ) {
    await t.step(name, async () => {
      await using test = await TestServer.start(
        { limits: { tlsHandshakeTimeoutMs: 100 } },
        { certificates: [first] },
      );
      const socket = net.connect(test.port, "127.0.0.1");
      socket.on("error", () => {});
      if (bytes !== "") socket.write(bytes);
      socket.resume();

      await once(socket, "end");

      assert.equal(test.server.connections.active, 0);
      socket.destroy();
    });
  }
});

Deno.test("HttpServer counts those who shake hands as connections", async () => {
  await using test = await TestServer.start({ limits: { maxConnections: 1 } }, {
    certificates: [first],
  });
  using _silent = await Deno.connect({
    hostname: "127.0.0.1",
    port: test.port,
  });

  await assert.rejects(handshake(test.port, "localhost"));

  await test.saw("rejected");
  assert.equal(test.server.connections.refused, 1);
});

Deno.test("HttpServer without TLS rejects a TLS client", async () => {
  await using test = await TestServer.start();

  await assert.rejects(handshake(test.port, "localhost"));
});
