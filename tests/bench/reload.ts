import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { cpuSeconds, median, openLoopLatencies } from "./measure.ts";
import { type Neighbour, type Place, startGatewayFrom } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

/** Measures what a reload of a large file costs, and how long it delays requests. */
export async function reloadRows(
  upstreamPort: number,
  { rounds }: Repetition,
): Promise<Row[]> {
  const ratio = await compareLimit(upstreamPort, rounds);
  const pause = await longestPause(upstreamPort, rounds, "anywhere");
  const alone = await longestPause(upstreamPort, rounds, "alone");
  return [
    row(
      "reload of 2 000 routes: a gateway limit / none",
      ratio,
      "x",
      { atMost: 1.3 },
    ),
    row(
      "longest pause in a reload of 5 000 routes",
      pause,
      "ms",
      { atMost: 50 },
    ),
    // V8 then marks its heap on the CPU that serves requests.
    row(
      "longest pause in such a reload, one CPU",
      alone,
      "ms",
      undefined,
    ),
  ];
}

/** Three expressions on the gateway, which every route gets. */
const limit = `policies:
- name: limit
  targetRefs: [{kind: Gateway, name: default}]
  traffic:
    rateLimit:
      local:
      - {requests: 2000000000, unit: Hours, key: source.address}
      - {requests: 2000000000, unit: Minutes, key: request.path, when: request.method == 'GET'}
`;

async function compareLimit(
  upstreamPort: number,
  rounds: number,
): Promise<number> {
  const options = { routes: 2000, more: limit };
  await using plain = await ReloadedGateway.start(upstreamPort, {
    routes: 2000,
  });
  await using limited = await ReloadedGateway.start(upstreamPort, options);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const base = await plain.cpuSecondsOfReload();
    ratios.push(await limited.cpuSecondsOfReload() / base);
  }
  return median(ratios);
}

async function longestPause(
  upstreamPort: number,
  rounds: number,
  place: Place,
): Promise<number> {
  const options = { routes: 5000, place };
  await using gateway = await ReloadedGateway.start(upstreamPort, options);
  const pauses: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [latencies] = await Promise.all([
      openLoopLatencies(`${gateway.url}/json`, 500, 3),
      gateway.reload(),
    ]);
    pauses.push(latencies.at(-1) ?? NaN);
  }
  return median(pauses);
}

class ReloadedGateway implements AsyncDisposable {
  readonly #process: Neighbour;
  readonly #file: string;
  readonly #textOf: (version: number) => string;
  #version = 0;

  private constructor(
    process: Neighbour,
    file: string,
    textOf: (version: number) => string,
  ) {
    this.#process = process;
    this.#file = file;
    this.#textOf = textOf;
  }

  static async start(
    upstreamPort: number,
    { routes, more = "", place = "alone" }: {
      readonly routes: number;
      /** More of the file. */
      readonly more?: string;
      readonly place?: Place;
    },
  ): Promise<ReloadedGateway> {
    const port = freePort();
    const textOf = (version: number) =>
      configText({ port, upstreamPort, routes, version }) + more;
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(file, textOf(0));
    const process = await startGatewayFrom(file, port, place);
    return new ReloadedGateway(process, file, textOf);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#process.port}`;
  }

  /** Changes the file; resolves once the new configuration is in force. */
  async reload(): Promise<void> {
    const version = ++this.#version;
    await Deno.writeTextFile(this.#file, this.#textOf(version));
    for (;;) {
      const { status, body } = await fetch(`${this.url}/version-${version}`);
      await body?.cancel();
      if (status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async cpuSecondsOfReload(): Promise<number> {
    const before = await cpuSeconds(this.#process.pid);
    await this.reload();
    return await cpuSeconds(this.#process.pid) - before;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await Deno.remove(this.#file);
  }
}

interface ConfigOptions {
  readonly port: number;
  readonly upstreamPort: number;
  readonly routes: number;
  readonly version: number;
}

function configText(
  { port, upstreamPort, routes, version }: ConfigOptions,
): string {
  return `config: {adminAddr: "off", statsAddr: "off", accessLog: {enabled: false}, logging: {level: warn}}
gateways:
  default: {port: ${port}}
routes:
- name: plain
  matches: [{path: {value: /json}}]
  backends: [{host: "127.0.0.1:${upstreamPort}"}]
- name: version
  matches: [{path: {value: /version-${version}}}]
  policies: {directResponse: {status: 200}}
${Array.from({ length: routes }, (_, number) => routeText(number)).join("")}`;
}

function routeText(number: number): string {
  return `- name: route-${number}
  hostnames: [h${number % 50}.example.com]
  matches:
  - path:
      value: /api/${number}
  backends:
  - host: 10.0.0.1:8080
  policies:
    timeouts:
      request: 30s
`;
}
