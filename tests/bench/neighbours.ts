import { engineFlags } from "../../.ci/pack.ts";
import { freePort } from "../harness/process/free_port.ts";

/** A process of the benchmark, killed when it is disposed. */
export interface Neighbour extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

/**
 * CPUs of a process: `alone` on the first one, as the processes that are compared, or `beside` it on the others, as their clients
 * and upstreams; `anywhere` on all. All CPUs if there is only one, or no `taskset`.
 */
export type Place = "alone" | "beside" | "anywhere";

/** Starts the naive proxy: `Deno.serve` and `fetch`. */
export async function startNaiveProxy(
  upstreamPort: number,
): Promise<Neighbour> {
  return await startDeno("naive_proxy.ts", [String(upstreamPort)], "alone");
}

/** Starts an upstream that streams events. */
export async function startEventUpstream(): Promise<Neighbour> {
  return await startDeno("event_upstream.ts", [], "beside");
}

/** Starts the gateway from `GATEWAY_BIN` or from source with one route to the upstream, plain without `policies`. */
export async function startGateway(
  upstreamPort: number,
  policies: Readonly<Record<string, unknown>> = {},
  settings: Readonly<Record<string, unknown>> = {},
  listener: Readonly<Record<string, unknown>> = {},
): Promise<Neighbour> {
  const routes = [{
    name: "plain",
    backends: [{ host: `127.0.0.1:${upstreamPort}` }],
    policies,
  }];
  return await startGatewayWith({ routes }, settings, listener);
}

/** Starts the gateway with these routes and backends. */
export async function startGatewayWith(
  parts: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, unknown>> = {},
  listener: Readonly<Record<string, unknown>> = {},
): Promise<Neighbour> {
  const port = freePort();
  const config = {
    config: {
      adminAddr: "off",
      statsAddr: "off",
      accessLog: { enabled: false },
      logging: { level: "warn" },
      ...settings,
    },
    gateways: { default: { port, ...listener } },
    ...parts,
  };
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return await startGatewayFrom(file, port);
}

/** The gateway with the configuration of a file, which listens on `port`. */
export async function startGatewayFrom(
  file: string,
  port: number,
  place: Place = "alone",
): Promise<Neighbour> {
  const command = [...gatewayCommand(), "-f", file];
  return await startProcess(command, port, place);
}

/** Returns the command line of the gateway under test. */
export function gatewayCommand(): [string, ...string[]] {
  const packed = Deno.env.get("GATEWAY_BIN");
  if (packed !== undefined) return [packed];
  return [
    Deno.execPath(),
    "run",
    "-A",
    ...engineFlags,
    new URL("../../main.ts", import.meta.url).pathname,
  ];
}

/** Starts a script of this folder with its port as argument. */
export async function startDeno(
  script: string,
  args: string[],
  place: Place,
): Promise<Neighbour> {
  const port = freePort();
  const path = new URL(script, import.meta.url).pathname;
  const command = [Deno.execPath(), "run", "-A", path, String(port), ...args];
  return await startProcess(command, port, place);
}

/** Starts a process; resolves once it listens on `port`. */
export async function startProcess(
  command: readonly string[],
  port: number,
  place: Place,
): Promise<Neighbour> {
  const [executable = "", ...args] = [...await pinning(place), ...command];
  const process = new Deno.Command(executable, {
    args,
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  await untilListening(port);
  return {
    port,
    pid: process.pid,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/** Returns the start of a command line that runs the rest on the CPUs of `place`. */
export async function pinning(place: Place): Promise<string[]> {
  const last = navigator.hardwareConcurrency - 1;
  if (place === "anywhere" || last === 0 || !await hasTaskset) return [];
  return ["taskset", "-c", place === "alone" ? "0" : `1-${last}`];
}

const hasTaskset = new Deno.Command("taskset", { args: ["-V"], stdout: "null" })
  .output().then(() => true, () => false);

/** Resolves once something listens on the port of this machine, which may take a minute. */
export async function untilListening(port: number): Promise<void> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
