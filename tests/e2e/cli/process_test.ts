import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { connectRaw } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const BLOBS = 200;
const HALF_OPEN = 50;

function echoUpstream(): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) await connection.send(answer(await connection.request()));
  });
}

Deno.test("gateway reads its configuration from standard input", async () => {
  await using upstream = echoUpstream();
  await using gateway = await GatewayProcess.start({
    stdin: true,
    config: {
      routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
    },
  });

  const response = await fetch(`${gateway.origin}/hello`);

  assert.match(await response.text(), /^GET \/hello HTTP\/1\.1\r\n/);
});

Deno.test({
  name: "gateway that waits for its configuration ends at the first signal",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using child = gatewayCommand({ args: ["-f", "-"], stdin: "piped" })
    .spawn();
  const input = child.stdin.getWriter();
  // More than a pipe holds: once it is written, somebody reads.
  await input.write(new TextEncoder().encode("#".repeat(1_000_000)));

  child.kill("SIGTERM");

  assert.equal((await child.status).code, 0);
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
  await input.abort().catch(() => {});
});

Deno.test("gateway fills its configuration in from the environment", async () => {
  await using upstream = echoUpstream();
  await using gateway = await GatewayProcess.start({
    env: { UPSTREAM_PORT: String(upstream.port) },
    config: {
      routes: [{
        matches: [{ path: { value: "${ROUTE:-/from-env}" } }],
        backends: [{ host: "127.0.0.1:${UPSTREAM_PORT}" }],
      }],
    },
  });

  const response = await fetch(`${gateway.origin}/from-env`);

  assert.match(await response.text(), /^GET \/from-env HTTP\/1\.1\r\n/);
});

Deno.test("gateway listens where its configuration says, whatever the options of Deno", async () => {
  await using upstream = echoUpstream();
  await using gateway = await GatewayProcess.start({
    env: { DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${freePort()}` },
    config: {
      routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
    },
  });

  const response = await fetch(`${gateway.admin}/config_dump`);
  await response.body?.cancel();

  assert.equal(response.status, 200);
});

Deno.test("gateway survives any input", async () => {
  await using upstream = echoUpstream();
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
    },
  });
  const { port } = gateway;

  await Promise.all(
    Array.from({ length: BLOBS }, (_, index) => sendGarbage(port, index)),
  );
  const halfOpen = await Promise.all(
    Array.from({ length: HALF_OPEN }, () => connectRaw(port)),
  );
  await Promise.all(halfOpen.map(async (client, index) => {
    await client.send(
      ["", "G", "GET / HTTP/1.1\r\nHost: a", "PRI * HTTP/2.0\r\n"][index % 4] ??
        "",
    );
    if (index % 2 === 0) await client.closeWrite();
  }));
  const response = await fetch(gateway.origin, {
    method: "POST",
    body: "still here",
  });

  assert.equal(response.status, 200);
  assert.match(await response.text(), /still here$/);
  for (const client of halfOpen) client.close();
  gateway.signal("SIGTERM");
  assert.equal(await gateway.exitCode(), 0);
  assert.deepEqual(
    gateway.log.all.filter((line) => /\t(error|warn)\t/.test(line)),
    [],
  );
});

Deno.test({
  name: "gateway ignores SIGUSR1 and SIGUSR2, says so, and ends as ever",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using gateway = await GatewayProcess.start({ config: { routes: [] } });

  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    gateway.signal(signal);
    await gateway.log.next(new RegExp(`\tprocess\tIgnored signal=${signal}`));
  }
  const url = `${gateway.admin}/quitquitquit`;
  const response = await fetch(url, { method: "POST" });
  await response.body?.cancel();

  assert.equal(await gateway.exitCode(), 0);
});

/** Random bytes; every other time behind the start of a request, so that they get further. */
async function sendGarbage(port: number, index: number): Promise<void> {
  const starts = [
    "",
    "GET / HTTP/1.1\r\nHost: a\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ];
  const bytes = crypto.getRandomValues(new Uint8Array(1 + index * 37 % 4096));
  const client = await connectRaw(port);
  try {
    await client.send(starts[index % starts.length] ?? "", bytes, "\r\n\r\n");
    await client.closeWrite();
    await client.closedByPeer();
  } catch (error) {
    // Refused in the midst of it.
    const isClosed = error instanceof Deno.errors.BrokenPipe ||
      error instanceof Deno.errors.ConnectionReset;
    if (!isClosed) throw error;
  } finally {
    client.close();
  }
}
