import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createAuthority } from "../../harness/login/certificates.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { writeAll } from "../../../src/http/transport.ts";

const CHUNK = new Uint8Array(256 * 1024);
/** More than what buffers of the system and of the gateway hold for one connection. */
const MANY_BYTES = 64 * 1024 * 1024;
/** Turns of the gateway in which a connection that is read makes progress. */
const TURNS = 100;

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

/** Resolves when the gateway has handled another request. */
async function passTurn({ stats }: GatewayProcess): Promise<void> {
  const response = await fetch(`${stats}/healthz/live`);
  await response.body?.cancel();
}

/** Writes until nobody takes more, although the gateway runs; returns the bytes. */
async function writeUntilStalled(
  connection: Deno.Conn,
  gateway: GatewayProcess,
): Promise<number> {
  let sent = 0;
  while (sent < MANY_BYTES) {
    let written: number | undefined;
    const writing = connection.write(CHUNK).then(
      (count) => written = count,
      () => written = 0,
    );
    for (let turn = 0; turn < TURNS && written === undefined; turn++) {
      await passTurn(gateway);
    }
    if (written === undefined) {
      connection.close();
      await writing;
      return sent;
    }
    sent += written;
  }
  connection.close();
  return sent;
}

function startGateway(
  port: number,
  { clientTls, upstreamTls }: { clientTls: boolean; upstreamTls: boolean },
): Promise<GatewayProcess> {
  const tls = {
    hostname: "localhost",
    caCertificateRefs: [{ inline: authority.cert }],
  };
  const host = `127.0.0.1:${port}`;
  return GatewayProcess.start({
    config: {
      routes: [{ backends: [{ host, ...(upstreamTls ? { tls } : {}) }] }],
    },
    listener: clientTls ? { protocol: "HTTPS", tls: own } : {},
  });
}

function listen(isTls: boolean): Deno.Listener<Deno.Conn> & {
  readonly addr: Deno.NetAddr;
} {
  const address = { hostname: "127.0.0.1", port: 0 };
  return isTls ? Deno.listenTls({ ...address, ...own }) : Deno.listen(address);
}

async function connect(port: number, isTls: boolean): Promise<Deno.Conn> {
  return isTls
    ? await Deno.connectTls({
      hostname: "localhost",
      port,
      caCerts: [authority.cert],
    })
    : await Deno.connect({ hostname: "127.0.0.1", port });
}

const sides = [
  { name: "", clientTls: false, upstreamTls: false },
  { name: " from TLS", clientTls: true, upstreamTls: false },
  { name: " to TLS", clientTls: false, upstreamTls: true },
];

for (const { name, ...side } of sides) {
  Deno.test(`gateway does not read on${name} for a client that does not read its response`, async () => {
    using upstream = listen(side.upstreamTls);
    await using gateway = await startGateway(upstream.addr.port, side);
    using client = await connect(gateway.port, side.clientTls);
    await client.write(
      Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    );
    const connection = await upstream.accept();
    await connection.read(new Uint8Array(4096));
    await connection.write(
      Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n`),
    );

    assert.ok(await writeUntilStalled(connection, gateway) < MANY_BYTES);
  });

  Deno.test(`gateway does not read on${name} for a backend that does not read a body`, async () => {
    using upstream = listen(side.upstreamTls);
    await using gateway = await startGateway(upstream.addr.port, side);
    const client = await connect(gateway.port, side.clientTls);
    await client.write(
      Buffer.from(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
      ),
    );
    using connection = await upstream.accept();
    await connection.read(new Uint8Array(100));

    assert.ok(await writeUntilStalled(client, gateway) < MANY_BYTES);
  });
}

Deno.test("gateway sees the end of a TLS upstream that closes while the client does not read", async () => {
  const size = MANY_BYTES / 4;
  using upstream = listen(true);
  await using gateway = await startGateway(upstream.addr.port, {
    clientTls: false,
    upstreamTls: true,
  });
  const serving = (async () => {
    using connection = await upstream.accept();
    await connection.read(new Uint8Array(4096));
    await writeAll(connection, Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    await writeAll(connection, new Uint8Array(size));
  })();

  const response = await fetch(gateway.origin, {
    signal: AbortSignal.timeout(30_000),
  });
  for (let turn = 0; turn < TURNS; turn++) await passTurn(gateway);
  const { byteLength } = await response.arrayBuffer();

  await serving;
  assert.equal(byteLength, size);
});
