/** A gateway under attack, and clients that have nothing to do with it. */
import { Buffer } from "node:buffer";
import { createAuthority } from "../harness/login/certificates.ts";
import { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import { connectRaw } from "../harness/clients/raw_exchange.ts";

export const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

const QUICK = "GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n";
const PAUSE_MS = 5;
export const MIB = 1024 * 1024;

/** A result to print: what was done, and figures with their units. */
export interface Finding {
  readonly drill: string;
  readonly figures: Readonly<Record<string, string | number>>;
  /** Reports whether the figures are what the gateway promises; the drill fails otherwise. */
  readonly isKept?: boolean;
}

/** Starts a gateway whose upstream is at `port`; `/quick` responds itself, `/rules` reads the body, `/tokens` counts tokens. */
export function startGateway(
  port: number,
  { tls = false, address = "127.0.0.1" } = {},
): Promise<GatewayProcess> {
  const backends = [{ host: `127.0.0.1:${port}` }];
  const matches = (value: string) => [{ path: { type: "PathPrefix", value } }];
  return GatewayProcess.start({
    config: {
      routes: [
        {
          name: "quick",
          matches: matches("/quick"),
          policies: { directResponse: { status: 200, body: "ok" } },
        },
        {
          name: "rules",
          matches: matches("/rules"),
          policies: {
            authorization: {
              action: "Deny",
              policy: { matchExpressions: ["llm.requestModel == 'drop'"] },
            },
          },
          backends,
        },
        {
          name: "tokens",
          matches: matches("/tokens"),
          policies: {
            rateLimit: {
              local: [{ tokens: 1_000_000_000, unit: "Hours" }],
            },
          },
          backends,
        },
        { name: "all", backends },
      ],
    },
    listener: { address, ...(tls ? { protocol: "HTTPS", tls: own } : {}) },
  });
}

/** Resident memory in MiB. */
export async function residentMib(
  { pid }: { readonly pid: number | undefined },
): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends requests one after the other, with pauses, until `attack` is over; returns their latencies in milliseconds. */
export async function watchVictim(
  connect: () => Promise<Awaited<ReturnType<typeof connectRaw>>>,
  attack: Promise<unknown>,
): Promise<Readonly<Record<string, string | number>>> {
  const latencies: number[] = [];
  let isOver = false;
  let failed = 0;
  const end = attack.finally(() => isOver = true);
  const client = await connect();
  while (!isOver) {
    const startedAt = performance.now();
    await client.send(QUICK);
    const response = await client.request();
    if (!response.startsWith("HTTP/1.1 200")) failed++;
    latencies.push(performance.now() - startedAt);
    await sleep(PAUSE_MS);
  }
  client.close();
  await end;
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    `${(latencies[Math.floor(share * latencies.length)] ?? 0).toFixed(1)} ms`;
  return {
    requests: latencies.length,
    failed,
    p50: at(0.5),
    p99: at(0.99),
    max: `${(latencies.at(-1) ?? 0).toFixed(1)} ms`,
  };
}

/** An upstream without an end: each response is `body`, as often as somebody takes it. */
export function endlessUpstream(body: Uint8Array): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    for await (const connection of listener) {
      void respond(connection, body).catch(() => connection.close());
    }
  })();
  return listener;
}

async function respond(connection: Deno.Conn, body: Uint8Array) {
  await connection.read(new Uint8Array(64 * 1024));
  await connection.write(
    Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
  );
  for (;;) await connection.write(body);
}
