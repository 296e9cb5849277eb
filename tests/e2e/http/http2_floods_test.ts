import assert from "node:assert/strict";
import {
  ERROR_CODES,
  FRAME_TYPES,
  SETTINGS,
} from "../../../src/http/http2/frames/http2_protocol.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  frame,
  GET,
  headers,
  Http2Client,
  settings,
  uint32,
} from "../../harness/clients/http2_client.ts";

const MIB = 1024 * 1024;
const LARGEST_WINDOW = 0x7fff_ffff;

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

/** An upstream that counts. */
interface EndlessUpstream extends AsyncDisposable {
  readonly port: number;
  requests: number;
  /** Bytes that were asked for. */
  produced: number;
}

/** Answers each request with a body without an end. */
function startEndless(): EndlessUpstream {
  const block = new Uint8Array(64 * 1024);
  const server = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen() {},
    onError: () => new Response(null, { status: 500 }),
  }, () => {
    upstream.requests++;
    return new Response(
      new ReadableStream({
        pull: (sink) => {
          upstream.produced += block.length;
          sink.enqueue(block);
        },
      }),
    );
  });
  const upstream: EndlessUpstream = {
    port: server.addr.port,
    requests: 0,
    produced: 0,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return upstream;
}

/** A gateway in front of the upstream, as a process of its own. */
function startGateway(port: number, tls: boolean): Promise<GatewayProcess> {
  return GatewayProcess.start({
    config: { routes: [{ backends: [{ host: `127.0.0.1:${port}` }] }] },
    ...(tls && { listener: { protocol: "HTTPS", tls: own } }),
  });
}

/** Resident memory of a process in bytes; `undefined` where the system does not tell. */
async function residentBytes(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["-o", "rss=", "-p", String(pid)],
    stdout: "piped",
  }).output();
  return Number(new TextDecoder().decode(stdout)) * 1024;
}

for (const tls of [true, false]) {
  Deno.test(`gateway uses little memory for HTTP/2 clients that never read, over ${tls ? "TLS" : "plain TCP"}`, async () => {
    await using upstream = startEndless();
    await using gateway = await startGateway(upstream.port, tls);
    const before = await residentBytes(gateway.pid);
    const clients: Http2Client[] = [];
    try {
      for (let i = 0; i < 20; i++) {
        const client = await Http2Client.connect(
          gateway.port,
          tls ? authority.cert : undefined,
        );
        clients.push(client);
        await client.send(
          settings([SETTINGS.initialWindowSize, LARGEST_WINDOW]),
          frame(
            FRAME_TYPES.windowUpdate,
            0,
            0,
            uint32(LARGEST_WINDOW - 65_535),
          ),
          headers(1, GET),
        );
      }
      while (upstream.requests < 20) await turn();
      // Buffers of the systems on the way; a gateway that continued to read would not come to rest.
      const most = 20 * 32 * MIB;
      for (let seen = -1; seen !== upstream.produced;) {
        seen = upstream.produced;
        assert(seen < most, "The gateway reads what nobody takes");
        for (let i = 0; i < 50; i++) await turn();
      }
      const grown = await residentBytes(gateway.pid) - before;

      assert(grown < 160 * MIB, `grew by ${Math.round(grown / MIB)} MiB`);
    } finally {
      for (const client of clients) client.close();
    }
  });
}

Deno.test("gateway forwards few requests that HTTP/2 clients reset at once, and serves the others meanwhile", async () => {
  await using upstream = startEndless();
  await using gateway = await startGateway(upstream.port, false);
  const burst = Array.from({ length: 1500 }, (_, i) => [
    headers(2 * i + 1, GET),
    frame(FRAME_TYPES.rstStream, 0, 2 * i + 1, uint32(ERROR_CODES.cancel)),
  ]).flat();

  for (let i = 0; i < 20; i++) {
    using client = await Http2Client.connect(gateway.port);
    const sending = client.send(...burst).catch(() => {});
    assert.match(await client.verdict(), /goaway 11|closed/);
    await sending;
  }

  assert(upstream.requests < 100, `${upstream.requests}`);
});

/** Lets a few milliseconds pass for sockets. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
