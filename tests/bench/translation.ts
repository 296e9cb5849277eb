import type { Repetition } from "./jwt.ts";
import { compare, cpuSeconds, load, median } from "./measure.ts";
import { type Neighbour, startDeno, startGatewayWith } from "./neighbours.ts";
import { chat } from "./requests.ts";
import { type Row, row } from "./row.ts";

const STREAMS = 40;
const EVENTS = 500;

/** Compares chats that are translated for Anthropic with messages that are forwarded there. */
export async function* translationRows(
  { rounds, seconds }: Repetition,
): AsyncGenerator<Row> {
  await using upstream = await startDeno("anthropic_upstream.ts", [], "beside");
  await using gateway = await startGatewayWith({
    routes: [{
      name: "llm",
      backends: [{
        llm: {
          provider: "Anthropic",
          host: `127.0.0.1:${upstream.port}`,
          plainText: true,
        },
      }],
    }],
  });
  const body = chat(1024);
  const measured = [
    () => load(gateway, seconds, { body, path: "/v1/messages" }),
    () => load(gateway, seconds, { body, path: "/v1/chat/completions" }),
  ] as const;
  // The compiler of the engine needs longer for what is longer.
  for (const measure of measured) for (let i = 0; i < 3; i++) await measure();
  const { perCpu, cpuMicros } = await compare(...measured, rounds);
  const what = "POST 1 KiB, chat translated / messages forwarded";
  yield row(what, perCpu, "x", { atLeast: 0.7 }, cpuMicros);
  const added: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const forwarded = await streamMicros(gateway, "/v1/messages");
    const translated = await streamMicros(gateway, "/v1/chat/completions");
    added.push((translated - forwarded) / EVENTS);
  }
  // The first round warms both up.
  const micros = median(added.slice(1));
  yield row("event translated − forwarded", micros, "µs", { atMost: 15 });
}

/** Returns the CPU time of the gateway for a stream, in microseconds. */
async function streamMicros(
  { port, pid }: Neighbour,
  path: string,
): Promise<number> {
  const before = await cpuSeconds(pid);
  for (let i = 0; i < STREAMS; i++) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...JSON.parse(chat(1024)), stream: true }),
    });
    for await (const _ of response.body ?? []);
  }
  return (await cpuSeconds(pid) - before) * 1e6 / STREAMS;
}
