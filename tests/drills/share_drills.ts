/** One client that takes what it can of a backend, while others send requests. */
import {
  FRAME_TYPES,
  SETTINGS,
} from "../../src/http/http2/frames/http2_protocol.ts";
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import {
  GET,
  headers,
  Http2Client,
  settings,
} from "../harness/clients/http2_client.ts";
import { connectRaw } from "../harness/clients/raw_exchange.ts";
import { type Finding, residentMib, sleep } from "./drill.ts";

const SLOW_POSTS = 1200;
const CONNECTIONS = [20, 150];
const STREAMS = 100;
const ATTACK_MS = 15_000;
const PAUSE_MS = 10;

type Attack = (port: number, until: number) => Promise<void>;

const attacks: Readonly<Record<string, Attack>> = {
  none: (_, until) => sleep(until - performance.now()),
  [`${SLOW_POSTS} slow POSTs`]: (port, until) =>
    slowPosts(port, until, "Content-Length: 1000\r\n\r\n", "x"),
  [`${SLOW_POSTS} slow POSTs, chunked`]: (port, until) =>
    slowPosts(port, until, "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
  ...Object.fromEntries(
    CONNECTIONS.map((count): [string, Attack] => [
      `${count} x ${STREAMS} streams with window 0`,
      (port, until) => closedWindows(port, until, count),
    ]),
  ),
};

const PROGRAM = import.meta.filename ?? "";

/** Each attack for a quarter of a minute: what another client gets meanwhile. */
export async function starvedBackend(): Promise<Finding[]> {
  const findings: Finding[] = [];
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      // Clients that attack are ended in the middle of a body.
      await request.arrayBuffer().catch(() => {});
      return new Response("a".repeat(300));
    },
  );
  for (const name of Object.keys(attacks)) {
    await using gateway = await GatewayProcess.start({
      config: {
        config: { trustedProxies: ["127.0.0.0/8"], workers: 1 },
        routes: [{ backends: [{ host: `127.0.0.1:${upstream.addr.port}` }] }],
      },
    });
    // In a process of its own, so that victims are timed while nothing else runs in theirs.
    const attack = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", PROGRAM, name, String(gateway.port)],
    }).spawn();
    await sleep(3000);
    const until = performance.now() + ATTACK_MS - 3000;
    const figures = await watch(gateway.origin, until);
    const memory = `${await residentMib(gateway)} MiB`;
    attack.kill("SIGKILL");
    await attack.status;
    findings.push({
      drill: `victims, attack: ${name}`,
      figures: { ...figures, memory },
    });
  }
  return findings;
}

async function watch(
  origin: string,
  until: number,
): Promise<Finding["figures"]> {
  const latencies: number[] = [];
  const failed = new Map<string, number>();
  while (performance.now() < until) {
    const startedAt = performance.now();
    const status = await fetch(origin, {
      headers: { "x-forwarded-for": "192.0.2.2" },
      signal: AbortSignal.timeout(5000),
    }).then(async (response) => {
      await response.body?.cancel();
      return String(response.status);
    }, () => "no response");
    latencies.push(performance.now() - startedAt);
    if (status !== "200") failed.set(status, (failed.get(status) ?? 0) + 1);
    await sleep(PAUSE_MS);
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    `${(latencies[Math.floor(share * latencies.length)] ?? 0).toFixed(1)} ms`;
  return {
    requests: latencies.length,
    failed: JSON.stringify(Object.fromEntries(failed)),
    p50: at(0.5),
    p99: at(0.99),
  };
}

async function slowPosts(
  port: number,
  until: number,
  head: string,
  piece: string,
): Promise<void> {
  const send = async () => {
    const connection = await connectRaw(port);
    const start =
      `POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n`;
    try {
      await connection.send(start + head);
      while (performance.now() < until) {
        await connection.send(piece);
        await sleep(Math.min(2000, Math.max(0, until - performance.now())));
      }
    } catch {
      // The gateway has rejected it.
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: SLOW_POSTS }, send));
}

async function closedWindows(
  port: number,
  until: number,
  connections: number,
): Promise<void> {
  const client = async () => {
    using client = await Http2Client.connect(port);
    await client.send(settings([SETTINGS.initialWindowSize, 0]));
    for (let index = 0; index < STREAMS; index++) {
      await client.send(
        headers(2 * index + 1, [...GET, ["x-forwarded-for", "192.0.2.1"]]),
      );
    }
    const reading = client.receive(FRAME_TYPES.goAway).catch(() => {});
    await sleep(until - performance.now());
    client.close();
    await reading;
  };
  await Promise.all(Array.from({ length: connections }, client));
}

if (import.meta.main) {
  const [name = "", port] = Deno.args;
  await attacks[name]?.(Number(port), performance.now() + 2 * ATTACK_MS);
}
