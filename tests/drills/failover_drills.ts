/** Backends that fail over. */
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import { type Finding, sleep } from "./drill.ts";

const STREAMS = 1000;
const STREAMS_AT_ONCE = 50;
/** `LIMIT_SECONDS=5` makes the drill shorter. */
const LIMIT_SECONDS = Number(Deno.env.get("LIMIT_SECONDS") ?? 60);
const CLIENTS = 10;
const PAUSE_MS = 20;

/** A thousand streams whose first backend limits requests, or breaks each stream before its first event. */
export async function failingOver(): Promise<Finding[]> {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
    "Connection: close\r\n\r\n";
  const firsts = {
    "429": "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\n" +
      "Content-Length: 0\r\n\r\n",
    "broken streams": head,
  };
  const findings: Finding[] = [];
  for (const [name, text] of Object.entries(firsts)) {
    using first = saying(text);
    using second = saying(`${head}data: one\n\ndata: two\n\n`);
    await using gateway = await startGateway([first, second]);
    let left = STREAMS;
    let whole = 0;
    let failedOver = 0;
    const client = async () => {
      while (left-- > 0) {
        const response = await fetch(gateway.origin, { method: "POST" });
        if (response.headers.has("x-gateway-failover")) failedOver++;
        const body = await response.text();
        if (body === "data: one\n\ndata: two\n\n") whole++;
      }
    };
    await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, client));
    findings.push({
      drill: `${STREAMS} streams, first backend: ${name}`,
      figures: { whole, failedOver },
    });
  }
  return findings;
}

/** A provider that limits requests for a minute, and says so: it gets one request in that time, and then all of them. */
export async function limitedProvider(): Promise<Finding[]> {
  const counts = { first: 0, firstWhileLimited: 0, second: 0, failed: 0 };
  let limitedUntil = Infinity;
  const first = Deno.serve(local, () => {
    counts.first++;
    limitedUntil = Math.min(
      limitedUntil,
      performance.now() + 1000 * LIMIT_SECONDS,
    );
    if (performance.now() >= limitedUntil) return new Response("first");
    counts.firstWhileLimited++;
    return new Response("slow down", {
      status: 429,
      headers: { "retry-after": String(LIMIT_SECONDS) },
    });
  });
  const second = Deno.serve(local, () => {
    counts.second++;
    return new Response("second");
  });
  await using gateway = await startGateway([first, second]);
  const endsAt = performance.now() + 1000 * (LIMIT_SECONDS + 5);
  let requests = 0;
  const client = async () => {
    while (performance.now() < endsAt) {
      const response = await fetch(gateway.origin, {
        method: "POST",
        body: "question",
      });
      requests++;
      if (!response.ok) counts.failed++;
      await response.body?.cancel();
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await Promise.all([first.shutdown(), second.shutdown()]);
  const figures = { requests, ...counts };
  return [{ drill: `a provider at 429 for ${LIMIT_SECONDS} s`, figures }];
}

const local = { hostname: "127.0.0.1", port: 0, onListen: () => {} };

function startGateway(
  backends: readonly { readonly addr: Deno.Addr }[],
): Promise<GatewayProcess> {
  return GatewayProcess.start({
    config: {
      routes: [{
        backends: backends.map(({ addr }, priority) => ({
          host: `127.0.0.1:${"port" in addr ? addr.port : 0}`,
          priority,
        })),
      }],
    },
  });
}

/** A server that answers the first bytes of each connection with `text`, and closes it. */
function saying(text: string): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serve = async (connection: Deno.TcpConn) => {
    await connection.read(new Uint8Array(64 * 1024));
    await connection.write(new TextEncoder().encode(text));
    connection.close();
  };
  (async () => {
    for await (const connection of listener) void serve(connection);
  })();
  return listener;
}
