import { median } from "./measure.ts";
import { startDeno, startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const STREAMS = 60;

/** Measures the cost of counting the tokens of a 1 MiB stream, in relay time. */
export async function tokenRows(rounds: number): Promise<Row[]> {
  await using upstream = await startDeno("token_upstream.ts", [], "beside");
  await using plain = await startGateway(upstream.port);
  await using counting = await startGateway(upstream.port, {
    rateLimit: { local: [{ tokens: 2 ** 31 - 1, unit: "Hours" }] },
  });
  const unread: number[] = [];
  const read: number[] = [];
  // Alternating, so that other load on the machine slows both down.
  for (let stream = 0; stream < (1 + rounds) * STREAMS; stream++) {
    // A path without LLM and limit: the same bytes, not parsed.
    unread.push(await relayTime(plain.port, "/plain"));
    read.push(await relayTime(counting.port, "/v1/messages"));
  }
  // The first streams warm both up.
  const value = median(read.slice(STREAMS)) / median(unread.slice(STREAMS));
  const what = "tokens of a 1 MiB stream counted / not counted";
  return [row(what, value, "x", { atMost: 1.15 })];
}

/** Returns the milliseconds that a stream takes. */
async function relayTime(port: number, path: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    body: '{"stream":true}',
  });
  for await (const _ of response.body ?? []);
  return performance.now() - startedAt;
}
