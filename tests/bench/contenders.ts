import type { Repetition } from "./jwt.ts";
import { startLeader } from "./peers/leader.ts";
import {
  compareSpeeds,
  load,
  type Requests,
  residentMiB,
  type Speed,
  type Target,
} from "./measure.ts";
import { startNaiveProxy } from "./neighbours.ts";
import { startNginxProxy, type TlsFiles } from "./nginx.ts";
import { type Row, row } from "./row.ts";

/** Requests per CPU second of the gateway, divided by those of another proxy. */
const bounds: Readonly<Record<string, number>> = {
  naive: 2,
  agentgateway: 1.4,
};

/** Enough for V8 to optimize their path, also on a busy machine. */
const WARM_UP_REQUESTS = 30_000;

/** A process of a comparison, and the requests that it receives. */
export interface Contender {
  readonly name: string;
  readonly target: Target;
  readonly requests: Requests;
}

/** Proxies that the gateway is compared with, on one upstream. */
export class Others implements AsyncDisposable {
  readonly targets: ReadonlyMap<string, Target>;
  readonly #processes: AsyncDisposableStack;

  private constructor(
    targets: ReadonlyMap<string, Target>,
    processes: AsyncDisposableStack,
  ) {
    this.targets = targets;
    this.#processes = processes;
  }

  /** Starts nginx, agentgateway where `AGENTGATEWAY_BIN` names it, and the naive proxy, which has no TLS. */
  static async start(upstreamPort: number, tls?: TlsFiles): Promise<Others> {
    const scheme = tls === undefined ? "http" : "https";
    const processes = new AsyncDisposableStack();
    const targets = new Map<string, Target>();
    const started = {
      nginx: await startNginxProxy(upstreamPort, tls),
      naive: tls === undefined
        ? await startNaiveProxy(upstreamPort)
        : undefined,
      agentgateway: await startLeader(upstreamPort, tls),
    };
    for (const [name, process] of Object.entries(started)) {
      if (process === undefined) continue;
      processes.use(process);
      targets.set(name, { ...process, scheme });
    }
    return new Others(targets, processes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processes.disposeAsync();
  }
}

/**
 * Compares the gateways with the others, which get the same requests as the first gateway.
 * @param toNginx Requests per CPU second that the first gateway should have, divided by those of nginx.
 */
export async function compareWithOthers(
  others: Others,
  gateways: readonly [Contender, ...Contender[]],
  { rounds, seconds }: Repetition,
  toNginx: number,
): Promise<Row[]> {
  const { requests } = gateways[0];
  const references = [...others.targets].map(([name, target]) => ({
    name,
    target,
    requests,
  }));
  const contenders = [...references, ...gateways];
  const speeds = new Map<Contender, Speed[]>();
  for (const contender of contenders) {
    speeds.set(contender, []);
    await warmUp(contender);
  }
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const { target, requests } = contender;
      speeds.get(contender)?.push(await load(target, seconds, requests));
    }
  }
  return gateways.flatMap((gateway) =>
    references.map((reference) => {
      const { perCpu, cpuMicros } = compareSpeeds(
        speeds.get(reference) ?? [],
        speeds.get(gateway) ?? [],
      );
      const what = `${gateway.name}: gateway / ${reference.name}`;
      const atLeast = bounds[reference.name] ?? toNginx;
      return row(what, perCpu, "x", { atLeast }, cpuMicros);
    })
  );
}

async function warmUp({ target, requests }: Contender): Promise<void> {
  for (let sent = 0; sent < WARM_UP_REQUESTS;) {
    sent += (await load(target, 1, requests)).rate;
  }
}

/** Returns the row for the memory of a process that has just been measured. */
export async function memoryRow(what: string, pid: number): Promise<Row> {
  return row(`${what}: memory`, await residentMiB(pid), "MiB", { atMost: 110 });
}
