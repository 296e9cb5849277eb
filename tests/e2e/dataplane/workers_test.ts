/** `config.workers`: several threads that serve as one gateway. */
import assert from "node:assert/strict";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { threadLabels } from "../../harness/parsers/pprof.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/** The kernel chooses the worker of each connection: all get the same one of two once in 30 000 runs. */
const CONNECTIONS = 16;

/** A route that responds with a text, in its body and in a header. */
function answering(text: string, settings = {}) {
  return {
    config: { workers: 2, ...settings },
    routes: [{
      name: "all",
      policies: {
        directResponse: { status: 200, body: text },
        responseHeaderModifier: { set: [{ name: "x-text", value: text }] },
      },
    }],
  };
}

/** Opens connections and sends a request on each. */
async function connectMany(port: number): Promise<RawConnection[]> {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(port)),
  );
  for (const client of clients) {
    await client.send(GET);
    assert.equal(statusOf(await client.request()), 200);
  }
  return clients;
}

async function fetchTasks({ admin }: GatewayProcess) {
  const response = await fetch(`${admin}/debug/tasks?limit=100`);
  const { connections, listeners } = await response.json();
  return { connections, listed: listeners[0].connections };
}

/** Returns the value of a metric, all its series together. */
async function readMetric(
  { stats }: GatewayProcess,
  name: string,
): Promise<number> {
  const response = await fetch(`${stats}/metrics`);
  const lines = (await response.text()).split("\n");
  const samples = lines.filter((line) =>
    line.startsWith(`${name} `) || line.startsWith(`${name}{`)
  );
  return samples.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

function close(clients: readonly RawConnection[]): void {
  for (const client of clients) client.close();
}

Deno.test("two workers share a port: tasks lists the connections of both, metrics sum their requests", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  const clients = await connectMany(gateway.port);

  const { connections, listed } = await fetchTasks(gateway);

  assert.equal(connections, CONNECTIONS);
  assert.equal(listed.length, CONNECTIONS);
  const workers = new Set(
    listed.map(({ worker }: { worker: number }) => worker),
  );
  assert.deepEqual(workers, new Set([1, 2]));
  assert.equal(
    await readMetric(gateway, "gateway_requests_total"),
    CONNECTIONS,
  );
  assert.equal(
    await readMetric(gateway, "gateway_request_duration_seconds_count"),
    CONNECTIONS,
  );
  assert.equal(await readMetric(gateway, "gateway_workers"), 2);
  close(clients);
});

Deno.test("a trace of the next requests finds them in every worker, in order and as many as wanted", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  const clients = await connectMany(gateway.port);
  const trace = await fetch(`${gateway.admin}/debug/trace?count=5`);
  const traced = readTrace(trace);

  for (const client of clients) {
    await client.send(GET);
    await client.request();
  }

  assert.deepEqual(await traced, [
    ...["requestStarted", "requestFinished"],
    ...["requestStarted", "requestFinished"],
    ...["requestStarted", "requestFinished"],
    ...["requestStarted", "requestFinished"],
    ...["requestStarted", "requestFinished"],
  ]);
  close(clients);
});

/** Reads a whole trace; returns the first and the last event of each request. */
async function readTrace(response: Response): Promise<readonly string[]> {
  const text = await response.text();
  const events = text.matchAll(/^data: (.*)$/gm).map(([, json = ""]) =>
    JSON.parse(json).message.type
  );
  return [...events].filter((type) =>
    type === "requestStarted" || type === "requestFinished"
  );
}

Deno.test("reloads under load lose no request, and no response mixes configurations", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("0") });
  const reloads = 20;
  const stop = new AbortController();
  const clients = Array.from(
    { length: CONNECTIONS },
    () => keepAsking(gateway.port, stop.signal),
  );
  for (let reload = 1; reload <= reloads; reload++) {
    const config = configFor(gateway.port, answering(String(reload)));
    await replaceFile(gateway.file, config);
    await gateway.log.next(/Configuration applied/);
  }
  stop.abort();
  const texts = (await Promise.all(clients)).flat();

  assert(texts.length >= CONNECTIONS);
  assert.deepEqual(texts.filter(({ body, header }) => body !== header), []);
  const last = await connectMany(gateway.port);
  for (const client of last) {
    await client.send(GET);
    assert.match(await client.request(), new RegExp(`\r\n\r\n${reloads}$`));
  }
  close(last);
});

/** Sends requests on one connection until it is told to stop; fails when the connection ends. */
async function keepAsking(port: number, signal: AbortSignal) {
  const client = await connectRaw(port);
  const seen: { body: string; header: string }[] = [];
  do {
    await client.send(GET);
    const response = await client.request();
    const [, header = ""] = /^x-text: (.*)\r$/m.exec(response) ?? [];
    seen.push({ body: response.split("\r\n\r\n")[1] ?? "", header });
  } while (!signal.aborted);
  client.close();
  return seen;
}

Deno.test("a reload that opens, closes and moves ports does so in every worker", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  const before = gateway.port;
  const after = freePort();
  await replaceFile(gateway.file, configFor(after, answering("b")));
  await gateway.log.next(/Configuration applied/);

  close(await connectMany(after));
  await assert.rejects(connectMany(before), Deno.errors.ConnectionRefused);
  const listening = gateway.log.all.filter((line) =>
    line.includes("\tproxy\tListening")
  );
  assert.equal(listening.length, 2, "one line per port, not per worker");
});

Deno.test("a port that another process uses is an error, and the workers keep what they serve", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  await using other = await GatewayProcess.start({ config: answering("b") });
  await replaceFile(gateway.file, configFor(other.port, answering("c")));

  await gateway.log.next(
    new RegExp(`Cannot listen on port ${other.port}.*address already in use`),
  );

  const clients = await connectMany(gateway.port);
  assert.equal((await fetchTasks(gateway)).connections, CONNECTIONS);
  close(clients);
});

Deno.test("every worker finishes its requests when the gateway stops", async () => {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let waiting = 0;
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    if (++waiting === CONNECTIONS) asked.resolve();
    await go.promise;
    await connection.send(answer("done"));
    await connection.closedByPeer();
  });
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2, drainTimeout: "30s" },
      routes: [{
        name: "all",
        backends: [{ host: `127.0.0.1:${upstream.port}` }],
      }],
    },
  });
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.port)),
  );
  for (const client of clients) await client.send(GET);
  await asked.promise;
  gateway.signal("SIGTERM");
  await gateway.log.next(/Draining/);
  go.resolve();

  const responses = await Promise.all(
    clients.map((client) => client.request()),
  );

  assert.deepEqual(
    new Set(responses.map(statusOf)),
    new Set([200]),
  );
  assert.equal(await gateway.exitCode(), 0);
  await gateway.log.next(new RegExp(`Stopped drained=${CONNECTIONS} cut=0`));
  close(clients);
});

Deno.test("profiles of processor time and memory have the threads of all workers", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  const stop = new AbortController();
  const clients = Array.from(
    { length: CONNECTIONS },
    () => keepAsking(gateway.port, stop.signal),
  );
  const profiles = `${gateway.admin}/debug/pprof`;

  const cpu = await fetch(`${profiles}/profile?seconds=1&frequency=1000`);
  const threads = threadLabels(await cpu.bytes());
  stop.abort();
  await Promise.all(clients);
  const heap = threadLabels(await (await fetch(`${profiles}/heap`)).bytes());

  assert.deepEqual(threads, ["main", "other", "worker 1", "worker 2"]);
  // One allocation in 512 KiB is sampled: a thread that has just started may have none.
  assert.notDeepEqual(heap, []);
  assert.deepEqual(heap.filter((thread) => !threads.includes(thread)), []);
});

Deno.test("the memory has the heaps of all workers, and rejected requests have numbers of their own", async () => {
  await using gateway = await GatewayProcess.start({ config: answering("a") });
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.port)),
  );
  for (const client of clients) await client.send("GET\r\n\r\n");
  for (const client of clients) {
    assert.equal(statusOf(await client.request()), 400);
  }

  const { workers } = await (await fetch(`${gateway.admin}/memory`)).json();
  const failures =
    await (await fetch(`${gateway.admin}/debug/requests?limit=100`)).json();

  assert.deepEqual(workers.map(({ worker }: { worker: number }) => worker), [
    1,
    2,
  ]);
  for (const { usedBytes, limitBytes } of workers) {
    assert(usedBytes > 1e6 && usedBytes < limitBytes);
  }
  const ids: string[] = failures.map(({ id }: { id: string }) => id);
  const numbers = ids.map((id) => Number(id.replace("refused-", "")));
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    Array.from({ length: CONNECTIONS }, (_, at) => at + 1),
  );
  close(clients);
});

Deno.test("every worker serves the web UI", async () => {
  await using gateway = await GatewayProcess.start({
    config: { config: { workers: 2 }, ui: { gateways: ["default"] } },
  });
  const pages = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      using connection = await Deno.connect({
        hostname: "127.0.0.1",
        port: gateway.port,
      });
      const request = "GET /ui/ HTTP/1.1\r\nHost: localhost\r\n" +
        "Connection: close\r\n\r\n";
      await connection.write(new TextEncoder().encode(request));
      return await new Response(connection.readable).text();
    }),
  );

  assert.deepEqual(new Set(pages.map(statusOf)), new Set([200]));
  for (const page of pages) assert.match(page, /<\/html>/);
});

Deno.test("with one worker there is no other thread", async () => {
  await using gateway = await GatewayProcess.start({
    config: answering("a", { workers: 1 }),
  });

  const clients = await connectMany(gateway.port);
  const { listed } = await fetchTasks(gateway);
  assert(listed.every((each: object) => !("worker" in each)));
  assert.equal(await readMetric(gateway, "gateway_workers"), 0);
  close(clients);
});
