/** Reservations of workers that end. */
import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { HeldUpstream, until } from "../../harness/servers/held_upstream.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";
import { breakWorker } from "../../harness/gateway/worker_faults.ts";

const budget = { tokens: 3500, unit: "Months", reserve: true };
const entries = [{ key: "all", value: "'x'" }];
const descriptors = [{ ...budget, entries }];
const variants = {
  "in memory": { rateLimit: { local: [budget] } },
  "over Deno KV": {
    kv: { path: ":memory:" },
    rateLimit: { global: { domain: "d", timeout: "30s", descriptors } },
  },
};

async function start(
  { rateLimit, ...config }: { readonly rateLimit: unknown },
  backends: unknown,
) {
  const port = freePort();
  const log = new LogLines();
  const gateway = await Gateway.start({
    config: textSource(JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      config: { workers: 2, ...config },
      routes: [{ name: "llm", policies: { rateLimit }, backends }],
    })),
    writeLog: (line) => log.add(line.trimEnd()),
    workers: {
      entry: new URL("../../harness/gateway/faulty_worker.ts", import.meta.url),
      onLost: () => {},
      writeLog: () => Promise.resolve(),
      writeAccessLog: () => Promise.resolve(),
    },
  });
  return {
    gateway,
    log,
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => gateway.stop(0),
  };
}

async function ask(origin: string): Promise<void> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(`${origin}/v1/chat/completions`, {
    client,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", max_tokens: 1000, messages: [] }),
  });
  await response.body?.cancel();
}

for (const [name, config] of Object.entries(variants)) {
  Deno.test(`a worker that ends gives back what its requests reserved, ${name}`, async () => {
    await using upstream = await HeldUpstream.start();
    await using test = await start(config, upstream.backends);
    const { gateway, log, origin } = test;
    const held = async () =>
      /^gateway_rate_limit_(?:shared_)?held\{[^}]*unit="tokens"[^}]*\} (\S+)$/m
        .exec(await gateway.dataPlane.call("collectMetrics"))?.[1];

    const requests = [ask(origin), ask(origin), ask(origin)];
    for (const each of requests) each.catch(() => {});
    await until(() => upstream.waiting.length === 3);
    assert(Number(await held()) >= 3000);
    breakWorker(1, "exit");
    breakWorker(2, "exit");
    for (const each of requests) await assert.rejects(each);
    await log.next(/Worker replaced/);
    await log.next(/Worker replaced/);

    await until(async () => await held() === "0");
    await until(async () => {
      const { headers } = await fetchRaw(`${origin}/probe`);
      return headers["x-ratelimit-remaining"] === "3500";
    });
  });
}
