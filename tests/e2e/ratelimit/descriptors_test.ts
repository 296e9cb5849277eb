/** A gateway that may not open as many files as there are clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createAuthority } from "../../harness/login/certificates.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { TlsClient } from "../../harness/clients/tls_client.ts";

const MAX_OPEN_FILES = 150;
const CLIENTS = MAX_OPEN_FILES;

const authority = await createAuthority();
const routes = [{ policies: { directResponse: { status: 200, body: "ok" } } }];

/** Clients that the system has connected or turned away, accepted by the gateway or not. */
async function connectAll(port: number): Promise<Socket[]> {
  const sockets = Array.from(
    { length: CLIENTS },
    () => connect({ port, host: "127.0.0.1" }).on("error", () => {}),
  );
  await Promise.all(
    sockets.map((socket) =>
      new Promise((resolve) =>
        socket.once("connect", resolve).once("close", resolve)
      )
    ),
  );
  return sockets;
}

/** The same clients, which begin TLS. */
async function connectAllTls(port: number): Promise<Socket[]> {
  const sockets = await connectAll(port);
  return sockets.map((socket) =>
    connectTls({ socket, rejectUnauthorized: false })
      .on("error", () => {})
  );
}

async function disconnectAll(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(sockets.map((socket) => {
    if (socket.closed) return;
    const closed = once(socket, "close");
    socket.destroy();
    return closed;
  }));
}

Deno.test({
  name:
    "HTTPS port serves again after more clients than there are file descriptors",
  ignore: Deno.build.os === "windows",
}, async () => {
  const own = await authority.issueServer(["localhost"]);
  await using gateway = await GatewayProcess.start({
    config: { routes },
    listener: { protocol: "HTTPS", tls: own },
    maxOpenFiles: MAX_OPEN_FILES,
  });
  using client = new TlsClient(gateway.port, { ca: authority.cert });

  const sockets = await connectAllTls(gateway.port);
  const warning = await gateway.log.next(/Cannot accept connections/);
  await disconnectAll(sockets);

  assert.match(warning, /reason=accept_failed error=".*open files/);
  assert.equal(await client.get(), "200 ok");
});

Deno.test({
  name:
    "HTTP port serves again after more clients than there are file descriptors",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using gateway = await GatewayProcess.start({
    config: { routes },
    maxOpenFiles: MAX_OPEN_FILES,
  });

  const sockets = await connectAll(gateway.port);
  const warning = await gateway.log.next(/Cannot accept connections/);
  await disconnectAll(sockets);
  const response = await fetch(gateway.origin);

  assert.match(warning, /reason=accept_failed error=".*open files/);
  assert.equal(await response.text(), "ok");
});

Deno.test({
  name:
    "stats server serves again after more clients than there are file descriptors",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using gateway = await GatewayProcess.start({
    config: { routes },
    maxOpenFiles: MAX_OPEN_FILES,
  });

  const sockets = await connectAll(Number(new URL(gateway.stats).port));
  await gateway.log.next(
    /\twarn\tadmin\tCannot accept connections error=.*open files/,
  );
  await disconnectAll(sockets);
  await gateway.log.next(/\tadmin\tAccepting connections again/);
  const response = await fetch(`${gateway.stats}/healthz/ready`);
  await response.body?.cancel();

  assert.equal(response.status, 200);
});
