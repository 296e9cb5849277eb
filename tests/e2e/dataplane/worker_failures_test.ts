/** Workers that end: out of memory, or for any other reason. */
import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import type { RawConnection } from "../../harness/clients/raw_upstream.ts";
import { breakWorker } from "../../harness/gateway/worker_faults.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const CONNECTIONS = 16;

interface WorkerGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly port: number;
  readonly log: LogLines;
  /** Resolves when a worker can be ended by the end of the process only. */
  readonly lost: Promise<void>;
  /** Applies a configuration that responds with this body. */
  reload(body: string): Promise<void>;
}

/** @param lookMs See `WorkerPoolOptions`. */
async function startWithWorkers(lookMs = 1000): Promise<WorkerGateway> {
  const lost = Promise.withResolvers<void>();
  const port = freePort();
  const log = new LogLines();
  const writeLog = (lines: string) => {
    for (const line of lines.trimEnd().split("\n")) log.add(line);
  };
  let body = "first";
  const config = () =>
    textSource(JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      config: { workers: 2 },
      routes: [{
        name: "all",
        policies: { directResponse: { status: 200, body } },
      }],
    }));
  const gateway = await Gateway.start({
    config: { ...config(), read: () => config().read() },
    writeLog,
    workers: {
      entry: new URL("../../harness/gateway/faulty_worker.ts", import.meta.url),
      heapMegabytes: 64,
      lookMs,
      onLost: lost.resolve,
      writeLog: (lines) => Promise.resolve(writeLog(lines)),
      writeAccessLog: () => Promise.resolve(),
    },
  });
  return {
    gateway,
    port,
    log,
    lost: lost.promise,
    reload(text) {
      body = text;
      return gateway.reload();
    },
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
  const { listeners } = await gateway.dataPlane.call("tasks", 1000);
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
    const metrics = await test.gateway.dataPlane.call("collectMetrics");
    assert.match(metrics, /^gateway_worker_failures_total 1$/m);
    assert.match(metrics, /^gateway_workers 2$/m);
    for (const client of [...clients, ...others]) client.close();
  });
}

Deno.test("a worker that ends under load cuts its own connections, and every client goes on", async () => {
  await using test = await startWithWorkers();
  const clients = await connectMany(test.port);
  const stop = new AbortController();
  const loads = clients.map((client) => askUntil(client, test.port, stop));
  const own = (await workersOf(test)).filter(({ worker }) => worker === 1);
  assert(own.length > 0 && own.length < CONNECTIONS);

  breakWorker(1, "exit");
  await test.log.next(/Worker replaced worker=1/);
  stop.abort();

  const results = await Promise.all(loads);
  const cut = results.filter(({ lost }) => lost > 0);
  assert.equal(cut.length, own.length);
  assert(results.every(({ answered }) => answered > 0));
});

/** Sends requests one after the other, with a new connection after each that is cut; the last request is answered. */
async function askUntil(
  first: RawConnection,
  port: number,
  { signal }: AbortController,
): Promise<{ answered: number; lost: number }> {
  let client = first;
  const tally = { answered: 0, lost: 0 };
  for (let isAnswered = true; !signal.aborted || !isAnswered;) {
    isAnswered = await ask(client).then(() => true, () => false);
    if (isAnswered) {
      tally.answered++;
      continue;
    }
    tally.lost++;
    client.close();
    client = await connectRaw(port);
  }
  client.close();
  return tally;
}

Deno.test("totals of a worker that has ended do not disappear from the metrics", async () => {
  await using test = await startWithWorkers();
  const clients = await connectMany(test.port);
  const before = await test.gateway.dataPlane.call("collectMetrics");
  assert.match(before, /^gateway_requests_total\{.*\} 16$/m);

  breakWorker(1, "exit");
  await test.log.next(/Worker replaced/);

  const after = await test.gateway.dataPlane.call("collectMetrics");
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

/** Creates a file that keeps a worker busy until it is disposed of. */
function createBusyFile(): Disposable & { readonly path: string } {
  const path = Deno.makeTempFileSync();
  return {
    path,
    [Symbol.dispose]() {
      try {
        Deno.removeSync(path);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    },
  };
}

/** Sends a request on each connection until one gets the response. */
async function anyBody(clients: readonly RawConnection[]): Promise<string> {
  for (const client of clients) await client.send(GET);
  const response = await Promise.any(clients.map((each) => each.request()));
  return response.split("\r\n\r\n")[1] ?? "";
}

Deno.test("a worker that does not respond is left out, and up to date when it responds again", async () => {
  using busy = createBusyFile();
  await using test = await startWithWorkers(200);
  const { gateway, log, port } = test;
  const clients = await connectMany(port);

  breakWorker(1, { busyWhile: busy.path });
  await log.next(/error\tprocess\tWorker does not respond.* worker=1 /);
  assert.equal(gateway.readiness(), "stuck");
  const metrics = await gateway.dataPlane.call("collectMetrics");
  assert.match(metrics, /^gateway_workers 1$/m);
  const answer = await gateway.dataPlane.traceNext({});
  assert("stream" in answer);
  await test.reload("second");
  assert.equal(await anyBody(clients), "second");
  let events = 0;
  for await (const _ of answer.stream) events++;
  assert(events > 0);

  busy[Symbol.dispose]();
  await log.next(/info\tprocess\tWorker responds again worker=1/);
  assert.equal(gateway.readiness(), "ready");
  const others = await connectMany(port);
  for (const client of others) assert.equal(await anyBody([client]), "second");
  const after = await workersOf(test);
  assert.deepEqual(new Set(after.map(({ worker }) => worker)), new Set([1, 2]));
  for (const client of [...clients, ...others]) client.close();
});

Deno.test("the process has to end when a worker never responds again, and the others drain", async () => {
  using busy = createBusyFile();
  await using test = await startWithWorkers(100);

  breakWorker(1, { busyWhile: busy.path });
  await test.lost;

  assert.match(
    await test.log.next(/only the end of the process/),
    /error\tprocess\tWorker does not respond, .* worker=1 /,
  );
  await test.gateway.stop(1000);
  await test.log.next(/Stopped drained=0 cut=0/);
});
