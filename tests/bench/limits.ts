import type { Repetition } from "./jwt.ts";
import { compare, throughput } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

/** Never exceeded. */
const plenty = 2_000_000_000;
/** Constant per connection, as `jwt.sub` is per token, so the value is cached. */
const key = "source.address";
const local = [
  { requests: plenty, unit: "Hours" },
  { requests: plenty, unit: "Minutes" },
  { requests: plenty, unit: "Hours", key },
];
const global = {
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
      { rateLimit: { local } },
    );
    await using shared = await startGateway(
      upstreamPort,
      { rateLimit: { global } },
      settings,
    );
    const measure = ({ port }: { readonly port: number }) =>
      throughput(`http://127.0.0.1:${port}/json`, seconds);
    const base = () => measure(plain);
    const toLocal = await compare(base, () => measure(limited), rounds);
    const toShared = await compare(base, () => measure(shared), rounds);
    return [
      row(
        "two local limits + one by client / plain",
        toLocal,
        "x",
        ">= 0.95",
        toLocal >= 0.95,
      ),
      row(
        "global limit with a KV lease / plain",
        toShared,
        "x",
        ">= 0.9",
        toShared >= 0.9,
      ),
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
