import type { Repetition } from "./jwt.ts";
import { compare, load } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

/** Never exceeded. */
const plenty = 2_000_000_000;
/** Constant per connection, as `jwt.sub` is per token, so the value is cached. */
const key = "source.address";
const localLimits = [
  { requests: plenty, unit: "Hours" },
  { requests: plenty, unit: "Minutes" },
  { requests: plenty, unit: "Hours", key },
];
const globalLimits = {
  domain: "bench",
  descriptors: [{
    requests: plenty,
    unit: "Hours",
    entries: [{ key: "client", value: key }],
  }],
};

/** Compares rate limits that admit everything with a plain route that receives the same requests. */
export async function limitRows(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Row[]> {
  const folder = await Deno.makeTempDir();
  try {
    const settings = { kv: { path: `${folder}/limits.db` } };
    await using plain = await startGateway(upstreamPort);
    await using limited = await startGateway(
      upstreamPort,
      { rateLimit: { local: localLimits } },
    );
    await using shared = await startGateway(
      upstreamPort,
      { rateLimit: { global: globalLimits } },
      settings,
    );
    const base = () => load(plain, seconds);
    const local = await compare(base, () => load(limited, seconds), rounds);
    const global = await compare(base, () => load(shared, seconds), rounds);
    return [
      row(
        "two local limits + one by client / plain",
        local.rate,
        "x",
        { atLeast: 0.95 },
        local.cpuMicros,
      ),
      row(
        "global limit with a KV lease / plain",
        global.rate,
        "x",
        { atLeast: 0.9 },
        global.cpuMicros,
      ),
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
