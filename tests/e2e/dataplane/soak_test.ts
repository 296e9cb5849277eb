/** Very many requests while everything changes; `SOAK_REQUESTS` says how many. */
import assert from "node:assert/strict";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { type RawAnswer, RawClient } from "../../harness/clients/raw_client.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";
import { planExchange, unframe } from "../../harness/time/soak_plan.ts";

const REQUESTS = Number(Deno.env.get("SOAK_REQUESTS") ?? 12_000);
const CONNECTIONS = 64;
const REWRITE_EVERY_MS = 100;
const UP_MS = 400;
const DOWN_MS = 100;

/** Answers what is planned; 400 to a request that is not as it was sent. */
async function serveSoak(connection: RawConnection): Promise<void> {
  for (;;) {
    const text = await connection.request();
    const bodyStart = text.indexOf("\r\n\r\n") + 4;
    const head = text.slice(0, bodyStart);
    const id = Number(/^\S+ \/\w+\/(\d+) /.exec(head)?.[1]);
    const { requestBody, response } = planExchange(id);
    const isExact = unframe(head, text.slice(bodyStart)) === requestBody;
    if (isExact) await connection.send(...response);
    else {
      await connection.send(
        answer("mixed up").replace("200 OK", "400 Mixed up"),
      );
    }
  }
}

/** A backend that is stopped and started again and again. */
class FlappingUpstream implements AsyncDisposable {
  readonly port: number;
  restarts = 0;
  /** Resolves when the gateway was answered by the process that runs now. */
  #reached = Promise.withResolvers<void>();
  /** Connections that died with the process before: the gateway may find each of them later. */
  #deadConnections = 0;
  #upstream: RawUpstream;
  #isDown = false;
  #upSince = performance.now();
  #stopped = false;
  readonly #flapping: Promise<void>;

  constructor() {
    this.#upstream = new RawUpstream(serveSoak);
    this.port = this.#upstream.port;
    this.#flapping = this.#flap();
  }

  /** Returns whether a failed request was sent during the outage, or on a connection that the outage broke. */
  excuses(startedAt: number): boolean {
    if (this.#isDown || this.#upSince > startedAt) return true;
    return this.#deadConnections-- > 0;
  }

  /** A request that began then was answered. */
  answered(startedAt: number): void {
    if (!this.#isDown && this.#upSince <= startedAt) this.#reached.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#reached.resolve();
    await this.#flapping;
    await this.#upstream.stop();
  }

  async #flap(): Promise<void> {
    while (!this.#stopped) {
      await Promise.all([pass(UP_MS), this.#reached.promise]);
      if (this.#stopped) return;
      this.#isDown = true;
      this.#deadConnections = this.#upstream.accepted;
      await this.#upstream.stop();
      await pass(DOWN_MS);
      this.#upstream = new RawUpstream(serveSoak, this.port);
      this.#reached = Promise.withResolvers();
      this.#upSince = performance.now();
      this.#isDown = false;
      this.restarts++;
    }
  }
}

/** Rewrites the configuration again and again, never to the same, and each time waits for an answer of the new one. */
class Rewriter implements AsyncDisposable {
  version = 0;
  #seen = Promise.withResolvers<void>();
  #stopped = false;
  readonly #writing: Promise<void>;

  constructor(file: string, contentOf: (version: number) => unknown) {
    this.#writing = this.#write(file, contentOf);
  }

  /** A request was answered by that version. */
  answered(version: string | undefined): void {
    if (version === String(this.version)) this.#seen.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#seen.resolve();
    await this.#writing;
  }

  async #write(
    file: string,
    contentOf: (version: number) => unknown,
  ): Promise<void> {
    while (!this.#stopped) {
      await Promise.all([pass(REWRITE_EVERY_MS), this.#seen.promise]);
      if (this.#stopped) return;
      this.#seen = Promise.withResolvers();
      this.version++;
      await replaceFile(file, contentOf(this.version));
    }
  }
}

/** Results of the requests. */
interface Tally {
  exact: number;
  /** 502, 503 or cut while the backend was down. */
  excused: number;
  /** Versions of the configuration that answered. */
  readonly versions: Set<string>;
  /** Unexpected results. */
  readonly problems: string[];
}

/** Listener of the responses. */
interface Watched {
  readonly flapping: FlappingUpstream;
  readonly rewriter: Rewriter;
  readonly tally: Tally;
}

/** One client: sends the next request when it has the answer to the one before. */
async function runClient(
  port: number,
  nextId: () => number | undefined,
  { flapping, rewriter, tally }: Watched,
): Promise<void> {
  let client = await RawClient.connect(port);
  for (let id = nextId(); id !== undefined; id = nextId()) {
    const { target, request, responseBody } = planExchange(id);
    const startedAt = performance.now();
    const answer = await exchange(client, request);
    const isExact = answer?.status === 200 && answer.body === responseBody &&
      answer.headers.get("x-id") === String(id);
    if (isExact) {
      const version = answer.headers.get("x-version");
      tally.exact++;
      tally.versions.add(version ?? "");
      rewriter.answered(version);
      if (target === "flapping") flapping.answered(startedAt);
    } else if (
      target === "flapping" && isFailure(answer) && flapping.excuses(startedAt)
    ) tally.excused++;
    else {
      tally.problems.push(`${target} ${id}: ${describe(answer, responseBody)}`);
    }
    if (answer === undefined || answer.headers.get("connection") === "close") {
      client[Symbol.dispose]();
      client = await RawClient.connect(port);
    }
  }
  client[Symbol.dispose]();
}

function describe(answer: RawAnswer | undefined, expected: string): string {
  if (answer === undefined) return "the connection was cut";
  const { status, headers, body } = answer;
  const from = headers.get("x-id") ?? headers.get("x-gateway-error");
  const difference = body === expected
    ? "as expected"
    : `of ${body.length} bytes, expected ${expected.length}`;
  return `${status} from ${from}, body ${difference}`;
}

/** `undefined` when the connection was cut before the end of the answer. */
async function exchange(
  client: RawClient,
  request: string,
): Promise<RawAnswer | undefined> {
  try {
    await client.send(request);
    return await client.receive();
  } catch {
    return undefined;
  }
}

function isFailure(answer: RawAnswer | undefined): boolean {
  return answer === undefined || answer.status === 502 || answer.status === 503;
}

async function residentBytes({ stats }: GatewayProcess): Promise<number> {
  const response = await fetch(`${stats}/metrics`);
  const text = await response.text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test("gateway loses, mixes up and leaks nothing under load while all around it changes", async () => {
  await using stable = new RawUpstream(serveSoak);
  await using flapping = new FlappingUpstream();
  const configOf = (version: number) => ({
    backends: [{
      name: "stable",
      static: { host: "127.0.0.1", port: stable.port },
      // Another pool of connections now and then.
      limits: { maxConnections: 256 + Math.floor(version / 10) % 2 },
    }],
    routes: [
      routeOf("stable", version, { backend: "stable" }),
      routeOf("flapping", version, { host: `127.0.0.1:${flapping.port}` }),
      ...(version % 2 === 0
        ? [routeOf("spare", version, { backend: "stable" })]
        : []),
    ],
  });
  await using gateway = await GatewayProcess.start({ config: configOf(0) });
  const tally: Tally = {
    exact: 0,
    excused: 0,
    versions: new Set(),
    problems: [],
  };
  await using rewriter = new Rewriter(
    gateway.file,
    (version) => configFor(gateway.port, configOf(version)),
  );
  const load = async (from: number, to: number) => {
    let id = from;
    const nextId = () => id < to ? id++ : undefined;
    await Promise.all(
      Array.from(
        { length: CONNECTIONS },
        () => runClient(gateway.port, nextId, { flapping, rewriter, tally }),
      ),
    );
    return await residentBytes(gateway);
  };

  const startedAt = performance.now();
  const warm = await load(0, Math.floor(REQUESTS / 2));
  const end = await load(Math.floor(REQUESTS / 2), REQUESTS);
  const seconds = (performance.now() - startedAt) / 1000;
  await rewriter[Symbol.asyncDispose]();

  // deno-lint-ignore no-console -- who runs a soak test wants to see its numbers
  console.log(
    `${REQUESTS} requests in ${seconds.toFixed(1)} s: ${tally.exact} exact, ` +
      `${tally.excused} excused by ${flapping.restarts} restarts, ` +
      `${tally.versions.size} of ${rewriter.version} configurations seen, ` +
      `memory ${toMib(warm)} -> ${toMib(end)} MiB`,
  );
  assert.deepEqual(tally.problems.slice(0, 20), []);
  assert.equal(tally.exact + tally.excused, REQUESTS);
  assert(flapping.restarts > 0);
  // The last one may have come too late for an answer.
  assert(tally.versions.size >= Math.max(rewriter.version, 2));
  assert(end < warm * 1.5, `memory grew from ${warm} to ${end} bytes`);
  assert.deepEqual(
    gateway.log.all.filter((line) => /\t(error|warn)\t/.test(line)),
    [],
  );
});

function routeOf(
  name: string,
  version: number,
  backend: Readonly<Record<string, unknown>>,
) {
  return {
    name,
    matches: [{ path: { value: `/${name}` } }],
    filters: [{
      type: "ResponseHeaderModifier",
      responseHeaderModifier: {
        set: [{ name: "x-version", value: String(version) }],
      },
    }],
    backends: [backend],
  };
}

function toMib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}
