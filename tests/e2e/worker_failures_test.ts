/** Workers that end: out of memory, or for any other reason. */
import assert from "node:assert/strict";
import { textSource } from "../../mod.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import { freePort } from "../harness/free_port.ts";
import { LogLines } from "../harness/log_lines.ts";
import { connectRaw, statusOf } from "../harness/raw_exchange.ts";
import type { RawConnection } from "../harness/raw_upstream.ts";
import { breakWorker } from "../harness/worker_faults.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const CONNECTIONS = 16;

interface WorkerGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly port: number;
  readonly log: LogLines;
}

async function startWithWorkers(): Promise<WorkerGateway> {
  const port = freePort();
  const log = new LogLines();
  const writeLog = (lines: string) => {
    for (const line of lines.trimEnd().split("\n")) log.add(line);
  };
  const gateway = await Gateway.start({
    config: textSource(JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      config: { workers: 2 },
      routes: [{
        name: "all",
        policies: { directResponse: { status: 200, body: "ok" } },
      }],
    })),
    writeLog,
    workers: {
      entry: new URL("../harness/faulty_worker.ts", import.meta.url),
      heapMegabytes: 64,
      writeLog: (lines) => Promise.resolve(writeLog(lines)),
      writeAccessLog: () => Promise.resolve(),
    },
  });
  return {
    gateway,
    port,
    log,
    [Symbol.asyncDispose]: () => gateway.stop(0),
  };
}

async function connectMany(port: number): Promise<RawConnection[]> {
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connectRaw(port)),
  );
  for (const client of clients) await ask(client);
  return clients;
}

async function ask(client: RawConnection): Promise<void> {
  await client.send(GET);
  assert.equal(statusOf(await client.request()), 200);
}

/** Returns the worker of each connection, by the port of its client. */
async function workersOf({ gateway }: WorkerGateway) {
  const { listeners } = await gateway.dataPlane.tasks(1000);
  return listeners.flatMap(({ connections }) =>
    connections.map(({ peer, worker }) => ({ peer, worker }))
  );
}

for (const fault of ["exit", "memory"] as const) {
  Deno.test(`a worker that ends (${fault}) is replaced, and the other goes on`, async () => {
    await using test = await startWithWorkers();
    const clients = await connectMany(test.port);
    const before = await workersOf(test);
    const survivors = before.filter(({ worker }) => worker === 2).length;
    assert(survivors > 0 && survivors < CONNECTIONS);

    breakWorker(1, fault);
    await test.log.next(
      /error\tprocess\tWorker ended, its connections are cut worker=1/,
    );
    await test.log.next(/Worker replaced worker=1/);

    const results = await Promise.allSettled(clients.map(ask));
    const answered = results.filter(({ status }) => status === "fulfilled");
    assert.equal(answered.length, survivors);
    const others = await connectMany(test.port);
    const after = await workersOf(test);
    assert.deepEqual(
      new Set(after.map(({ worker }) => worker)),
      new Set([1, 2]),
    );
    const metrics = await test.gateway.dataPlane.collectMetrics();
    assert.match(metrics, /^gateway_worker_failures_total 1$/m);
    assert.match(metrics, /^gateway_workers 2$/m);
    for (const client of [...clients, ...others]) client.close();
  });
}

Deno.test("totals of a worker that has ended do not disappear from the metrics", async () => {
  await using test = await startWithWorkers();
  const clients = await connectMany(test.port);
  const before = await test.gateway.dataPlane.collectMetrics();
  assert.match(before, /^gateway_requests_total\{.*\} 16$/m);

  breakWorker(1, "exit");
  await test.log.next(/Worker replaced/);

  const after = await test.gateway.dataPlane.collectMetrics();
  assert.match(after, /^gateway_requests_total\{.*\} 16$/m);
  assert.match(after, /^gateway_request_duration_seconds_count\{.*\} 16$/m);
  for (const client of clients) client.close();
});

Deno.test("a trace goes on after a worker was replaced", async () => {
  await using test = await startWithWorkers();
  const answer = await test.gateway.dataPlane.traceNext({ count: 2 });
  assert("stream" in answer);

  breakWorker(1, "exit");
  await test.log.next(/Worker replaced/);
  const clients = await connectMany(test.port);

  let finished = 0;
  for await (const { message } of answer.stream) {
    if (message.type === "requestFinished") finished++;
  }
  assert.equal(finished, 2);
  for (const client of clients) client.close();
});
