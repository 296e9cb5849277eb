/** Drills of a gateway with two workers: reloads under load, and a long mixed load. */
import { replaceFile } from "../harness/gateway/file_gateway.ts";
import {
  configFor,
  GatewayProcess,
} from "../harness/gateway/gateway_process.ts";
import { RawUpstream } from "../harness/clients/raw_upstream.ts";
import { type Finding, residentMib, sleep } from "./drill.ts";
import {
  misbehave,
  sendHttp1,
  sendHttp2,
  serveMixed,
  type Tally,
} from "./mixed_load.ts";

const RELOADS = 100;
const MINUTES = Number(Deno.env.get("SOAK_MINUTES") ?? 20);
const SAMPLES = 10;
const RELOAD_EVERY_MS = 5000;

const QUICK = "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n";
const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST = "POST /rules HTTP/1.1\r\nHost: a\r\n" +
  'Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"model":"gpt"}';

/** The configuration with a text that is in a body and in a header. */
function configWith(text: string, upstream: number) {
  const matches = (value: string) => [{ path: { type: "PathPrefix", value } }];
  const backends = [{ host: `127.0.0.1:${upstream}` }];
  return {
    config: { workers: 2 },
    routes: [
      {
        name: "quick",
        matches: matches("/quick"),
        policies: {
          directResponse: { status: 200, body: text },
          responseHeaderModifier: { set: [{ name: "x-text", value: text }] },
        },
      },
      {
        name: "rules",
        matches: matches("/rules"),
        policies: {
          authorization: {
            action: "Deny",
            policy: { matchExpressions: ["llm.requestModel == 'drop'"] },
          },
          rateLimit: { local: [{ requests: 1_000_000_000, unit: "Hours" }] },
        },
        backends,
      },
      { name: "all", backends },
    ],
  };
}

function newTally(): Tally {
  return { answered: 0, failed: 0, mixed: 0 };
}

/** Reloads under load of HTTP/1.1 and HTTP/2: no request is lost, and no response mixes configurations. */
export async function reloads(): Promise<Finding[]> {
  await using upstream = new RawUpstream(serveMixed);
  await using gateway = await GatewayProcess.start({
    config: configWith("0", upstream.port),
  });
  const { port } = gateway;
  const stop = new AbortController();
  const [h1, h2] = [newTally(), newTally()];
  const pace = { signal: stop.signal, pauseMs: 1 };
  const clients = Array.from({ length: 8 }, () => [
    sendHttp1(port, QUICK, h1, pace),
    sendHttp2(port, "/quick", h2, pace),
  ]).flat();
  for (let reload = 1; reload <= RELOADS; reload++) {
    const config = configWith(String(reload), upstream.port);
    await replaceFile(gateway.file, configFor(port, config));
    await gateway.log.next(/Configuration applied/);
  }
  stop.abort();
  await Promise.all(clients);
  return [["HTTP/1.1", h1] as const, ["HTTP/2", h2] as const].map((
    [protocol, tally],
  ) => ({
    drill: `${RELOADS} reloads with 2 workers under load of ${protocol}`,
    figures: { ...tally },
  }));
}

/** A mixed load for twenty minutes: memory and descriptors stay level. */
export async function soak(): Promise<Finding[]> {
  await using upstream = new RawUpstream(serveMixed);
  await using gateway = await GatewayProcess.start({
    config: configWith("0", upstream.port),
  });
  const { port } = gateway;
  const stop = new AbortController();
  const { signal } = stop;
  const tally = newTally();
  const load = [
    ...[QUICK, GET, POST, GET, POST].map((request) =>
      sendHttp1(port, request, tally, { signal, pauseMs: 20 })
    ),
    ...["/quick", "/", "/events", "/events"].map((path) =>
      sendHttp2(port, path, tally, { signal, pauseMs: 20 })
    ),
    misbehave(port, signal),
    reloadOften(gateway, upstream.port, signal),
  ];
  const figures: Record<string, string> = {};
  for (let sample = 0; sample <= SAMPLES; sample++) {
    const minute = sample * MINUTES / SAMPLES;
    figures[`minute ${minute}`] = `${await residentMib(gateway)} MiB, ${
      descriptors(gateway)
    } descriptors`;
    const line = `${minute} ${figures[`minute ${minute}`]}, ${
      JSON.stringify(tally)
    }\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(line));
    if (sample < SAMPLES) await sleep(MINUTES * 60_000 / SAMPLES);
  }
  stop.abort();
  await Promise.all(load);
  return [{
    drill: `${MINUTES} minutes of mixed load with 2 workers`,
    figures: { ...tally, ...figures },
  }];
}

async function reloadOften(
  gateway: GatewayProcess,
  upstream: number,
  signal: AbortSignal,
): Promise<void> {
  for (let reload = 1; !signal.aborted; reload++) {
    await sleep(RELOAD_EVERY_MS);
    const config = configWith(String(reload), upstream);
    await replaceFile(gateway.file, configFor(gateway.port, config));
    await gateway.log.next(/Configuration applied/);
  }
}

function descriptors({ pid }: GatewayProcess): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}
