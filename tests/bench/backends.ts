import { systemClock } from "../../src/base/clock.ts";
import { RecordedLog } from "../harness/telemetry/recorded_log.ts";
import { createUpstream } from "../../src/http/client/pool/pooled_upstream.ts";
import { EndpointPool } from "../../src/proxy/balancing/endpoint_pool.ts";
import { defaultBalancing } from "../../src/snapshot/backend.ts";
import type { Repetition } from "./jwt.ts";
import { compare, load } from "./measure.ts";
import { startGateway, startGatewayWith } from "./neighbours.ts";
import { startUpstream } from "./nginx.ts";
import { chat } from "./requests.ts";
import { type Row, row } from "./row.ts";

const ENDPOINTS = 100;
const CHAT_PATH = "/v1/chat/completions";

/** Compares backends with a plain one: an LLM provider whose tokens are counted, and many endpoints that are checked. */
export async function* backendRows(
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): AsyncGenerator<Row> {
  await using plain = await startGateway(upstreamPort);
  {
    await using llm = await startGatewayWith(llmBackend(upstreamPort));
    const body = chat(1024);
    const measured = [
      () => load(plain, seconds, { body }),
      () => load(llm, seconds, { body, path: CHAT_PATH }),
    ] as const;
    // The compiler of the engine needs longer for what is longer.
    for (const measure of measured) for (let i = 0; i < 3; i++) await measure();
    const { perCpu, cpuMicros } = await compare(...measured, rounds);
    const what = "POST 1 KiB, LLM backend, counted / plain";
    yield row(what, perCpu, "x", { atLeast: 0.85 }, cpuMicros);
  }
  await using upstream = await startUpstream(ENDPOINTS);
  await using one = await startGateway(upstream.port);
  await using many = await startGatewayWith(fleet(upstream.port));
  const { perCpu, cpuMicros } = await compare(
    () => load(one, seconds),
    () => load(many, seconds),
    rounds,
  );
  // More connections cost the operating system more.
  const what = `GET, ${ENDPOINTS} checked endpoints / one`;
  yield row(what, perCpu, "x", undefined, cpuMicros);
  const share = 100 * choosingMicros() / cpuMicros;
  yield row(`choosing among ${ENDPOINTS} / GET`, share, "%", { atMost: 2 });
}

const TURNS = 300_000;

/** Returns the time to choose one of many endpoints and to judge its response, in microseconds. */
function choosingMicros(): number {
  const pool = new EndpointPool({
    name: "fleet",
    balancing: defaultBalancing,
    connect: ({ host, port }) =>
      createUpstream(
        { host, port, protocol: "http1", tls: undefined },
        systemClock,
      ),
    clock: systemClock,
    random: Math.random,
    log: new RecordedLog(),
  });
  pool.update(fleet(80).backends.flatMap(({ endpoints }) => endpoints));
  const run = () => {
    const startedAt = performance.now();
    for (let turn = 0; turn < TURNS; turn++) {
      pool.choose([], undefined).health.responded(200, 1);
    }
    return 1000 * (performance.now() - startedAt) / TURNS;
  };
  run();
  const micros = run();
  pool.close();
  return micros;
}

function llmBackend(upstreamPort: number) {
  const llm = {
    provider: "OpenAICompatible",
    host: `127.0.0.1:${upstreamPort}`,
    plainText: true,
    credentials: { key: "secret" },
  };
  return { routes: [{ name: "llm", backends: [{ llm }] }] };
}

function fleet(port: number) {
  const endpoints = Array.from(
    { length: ENDPOINTS },
    (_, index) => ({ host: `127.0.0.${index + 1}`, port }),
  );
  const healthCheck = { path: "/", interval: "5s" };
  return {
    routes: [{ name: "fleet", backends: [{ backend: "fleet" }] }],
    backends: [{ name: "fleet", endpoints, healthCheck }],
  };
}
