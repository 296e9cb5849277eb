import { median } from "./measure.ts";
import { startDeno, startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const STREAMS = 60;

/** What it costs to count the tokens of a stream of 1 MiB, in time of the relay. */
export async function tokenRows(rounds: number): Promise<Row[]> {
  await using upstream = await startDeno("token_upstream.ts", []);
  await using plain = await startGateway(upstream.port);
  await using counting = await startGateway(upstream.port, {
    rateLimit: { local: [{ tokens: 2 ** 31 - 1, unit: "Hours" }] },
  });
  const ratios: number[] = [];
  await relayTime(plain.port, "/v1/messages");
  await relayTime(counting.port, "/v1/messages");
  for (let round = 0; round < rounds; round++) {
    // A path of no LLM and no limit: the same bytes, not looked at.
    const unread = await relayTime(plain.port, "/plain");
    const read = await relayTime(counting.port, "/v1/messages");
    ratios.push(read / unread);
  }
  const value = median(ratios);
  const what = "tokens of a 1 MiB stream counted / not counted";
  return [row(what, value, "x", "<= 1.1", value <= 1.1)];
}

/** Milliseconds that a stream takes, one after the other; the median. */
async function relayTime(port: number, path: string): Promise<number> {
  const times: number[] = [];
  for (let stream = 0; stream < STREAMS; stream++) {
    const startedAt = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      body: '{"stream":true}',
    });
    for await (const _ of response.body ?? []);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
