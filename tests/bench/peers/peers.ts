/**
 * `make bench-peers` compares the gateway with nginx, and with agentgateway where `AGENTGATEWAY_BIN` names its executable: the same
 * requests in turns, each proxy on one CPU, and medians. Writes the table of `docs/performance.md`. `GATEWAY_BIN` names the
 * executable of the gateway; without it, the source is measured.
 */
import {
  load,
  loadHttp2,
  median,
  openLoopLatencies,
  percentile,
  residentMiB,
  type Speed,
} from "../measure.ts";
import { startUpstream } from "../nginx.ts";
import { describeMachine } from "./machine.ts";
import { measurePauses } from "./pauses.ts";
import {
  GET_ROW,
  type Peer,
  type PeerRow,
  type Site,
  sites,
  SMALL_POST_ROW,
} from "./sites.ts";

const ROUNDS = Number(Deno.env.get("BENCH_ROUNDS") ?? 5);
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 4);
/** Enough for V8 to optimize the path of a row. */
const WARM_UP_REQUESTS = 50_000;
const page = new URL("../../../docs/performance.md", import.meta.url);

/** A line of the table: a cell for each proxy. */
type Line = Readonly<Partial<Record<Peer["name"], string>>> & {
  readonly name: string;
  /** The gateway compared with agentgateway. */
  readonly ratio?: string;
};

/** CPU times per request in microseconds, by row and proxy. */
const cpuTimes = new Map<string, ReadonlyMap<Peer["name"], number>>();

async function measureSite(site: Site): Promise<Line[]> {
  const lines: Line[] = [];
  for (const row of site.rows) lines.push(await measureRow(row, site.peers));
  return lines;
}

async function measureRow(
  row: PeerRow,
  peers: readonly Peer[],
): Promise<Line> {
  const measure = ({ target }: Peer) =>
    row.isHttp2 === true
      ? loadHttp2(target, SECONDS)
      : load(target, SECONDS, row.requests);
  const speeds = new Map<Peer["name"], Speed[]>();
  for (const peer of peers) {
    speeds.set(peer.name, []);
    // The others are compiled ahead.
    let missing = peer.name === "gateway" ? WARM_UP_REQUESTS : 1;
    while (missing > 0) missing -= (await measure(peer)).rate * SECONDS;
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const peer of peers) speeds.get(peer.name)?.push(await measure(peer));
  }
  const rateOf = (name: Peer["name"]) =>
    median((speeds.get(name) ?? []).map(({ rate }) => rate));
  const cpu = new Map(peers.map(({ name }) =>
    [
      name,
      median((speeds.get(name) ?? []).map(({ cpuMicros }) => cpuMicros)),
    ] as const
  ));
  cpuTimes.set(row.name, cpu);
  const cells = peers.map(({ name }) =>
    [
      name,
      `${format(rateOf(name))}/s, ${cpu.get(name)?.toFixed(1)} µs`,
    ] as const
  );
  return {
    name: row.name,
    ...Object.fromEntries(cells),
    ratio: ratioOf(rateOf("gateway"), rateOf("agentgateway")),
  };
}

/** Measures the memory of proxies now. */
async function measureMemory({ peers }: Site, name: string): Promise<Line> {
  const cells: [string, string][] = [];
  for (const { name: peer, target } of peers) {
    cells.push([peer, `${Math.round(await residentMiB(target.pid))} MiB`]);
  }
  return { name, ...Object.fromEntries(cells) };
}

/** Compares two rows by requests per second of CPU time. */
function compareRows(row: string, base: string): Line {
  const cells = [...cpuTimes.get(row) ?? []].map(([peer, cpu]) => {
    const share = (cpuTimes.get(base)?.get(peer) ?? NaN) / cpu;
    return [peer, share.toFixed(2)] as const;
  });
  return { name: `${row} / ${base}, per CPU`, ...Object.fromEntries(cells) };
}

/** Measures what each proxy adds to the time of a response, at 1,000 requests per second. */
async function measureLatency(
  { peers }: Site,
  upstreamPort: number,
): Promise<Line> {
  const measure = (port: number) =>
    openLoopLatencies(`http://127.0.0.1:${port}/json`, 1000, SECONDS);
  const added = new Map(
    peers.map((
      { name },
    ) => [name, { p50: [] as number[], p99: [] as number[] }]),
  );
  for (let round = 0; round < ROUNDS; round++) {
    const direct = await measure(upstreamPort);
    for (const { name, target } of peers) {
      const relayed = await measure(target.port);
      const { p50, p99 } = added.get(name) ?? { p50: [], p99: [] };
      p50.push(percentile(relayed, 0.5) - percentile(direct, 0.5));
      p99.push(percentile(relayed, 0.99) - percentile(direct, 0.99));
    }
  }
  const cells = [...added].map(([name, { p50, p99 }]) =>
    [name, `${median(p50).toFixed(2)}, ${median(p99).toFixed(2)} ms`] as const
  );
  return {
    name: "added at 1,000 requests/s: p50, p99",
    ...Object.fromEntries(cells),
  };
}

/** Measures the pauses of the gateway only: the others collect no garbage. */
async function measureGarbage(upstreamPort: number): Promise<Line> {
  const { p50, p99 } = await measurePauses(upstreamPort, SECONDS);
  return {
    name: "pauses for garbage: p50, p99",
    gateway: `${p50.toFixed(1)}, ${p99.toFixed(1)} ms`,
  };
}

function ratioOf(gateway: number, leader: number): string {
  return leader > 0 ? (gateway / leader).toFixed(2) : "";
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString("en-US");
}

function tableOf(lines: readonly Line[]): string {
  const head =
    "| requests | nginx | agentgateway | gateway | gateway / agentgateway |";
  const cells = lines.map(({ name, ratio = "", ...peers }) =>
    `| ${name} | ${peers.nginx ?? ""} | ${peers.agentgateway ?? "–"} | ${
      peers.gateway ?? ""
    } | ${ratio} |`
  );
  return [head, "| --- | --- | --- | --- | --- |", ...cells].join("\n");
}

/** Replaces the part of the page between its marks, and formats the page. */
async function writePage(table: string): Promise<void> {
  const text = await Deno.readTextFile(page);
  const [begin, end] = ["<!-- peers:begin -->", "<!-- peers:end -->"];
  const [before = "", rest = ""] = text.split(begin);
  const [, after = ""] = rest.split(end);
  await Deno.writeTextFile(
    page,
    `${before}${begin}\n\n${table}\n\n${end}${after}`,
  );
  const args = ["fmt", "--quiet", page.pathname];
  await new Deno.Command(Deno.execPath(), { args }).output();
}

function print(text: string): Promise<number> {
  return Deno.stdout.write(new TextEncoder().encode(`${text}\n`));
}

async function main(): Promise<void> {
  await using upstream = await startUpstream();
  const lines: Line[] = [];
  for (const start of sites) {
    await using site = await start(upstream.port);
    const isPlain = lines.length === 0;
    const idle = isPlain ? [await measureMemory(site, "memory, idle")] : [];
    const measured = [...idle, ...await measureSite(site)];
    if (isPlain) {
      measured.push(
        compareRows(SMALL_POST_ROW, GET_ROW),
        await measureMemory(site, "memory after these rows"),
        await measureLatency(site, upstream.port),
        await measureGarbage(upstream.port),
      );
    }
    for (const line of measured) await print(Object.values(line).join("  "));
    lines.push(...measured);
  }
  const about = await describeMachine({ rounds: ROUNDS, seconds: SECONDS });
  await writePage(`${about}\n\n${tableOf(lines)}`);
}

await main();
