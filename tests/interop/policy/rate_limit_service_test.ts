/**
 * The client of rate limit services against envoyproxy/ratelimit, with Redis behind it: `make interop-ratelimit`.
 *
 * @module
 */
import { openEgress } from "../../../src/base/wire/egress_policy.ts";
import assert from "node:assert/strict";
import { tokensUsed } from "../../harness/login/tokens_used.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { createLogger } from "../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../src/base/log/log_filter.ts";
import type { DescriptorUse } from "../../../src/ratelimit/limiter/global_limiter.ts";
import { ServiceLimiter } from "../../../src/ratelimit/service/service_limiter.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";

interface Program extends AsyncDisposable {
  /** Kills it and waits for its end. */
  kill(): Promise<void>;
}

/** Starts a program; resolves once it printed a line that matches. */
async function startProgram(
  path: string,
  args: string[],
  env: Record<string, string>,
  ready: RegExp,
): Promise<Program> {
  const child = new Deno.Command(path, {
    args,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines = new LogLines();
  const reading = [lines.addAll(child.stdout), lines.addAll(child.stderr)];
  let isRunning = true;
  async function kill(): Promise<void> {
    if (isRunning) child.kill("SIGKILL");
    isRunning = false;
    await child.status;
    await Promise.all(reading);
  }
  await lines.next(ready);
  return { kill, [Symbol.asyncDispose]: kill };
}

/** Redis and what the service needs to find it; the service is started by `startService`. */
class Setting implements AsyncDisposable {
  readonly grpcPort = freePort();
  readonly #directory: string;
  readonly #redisPort: number;
  readonly #redis: Program;

  private constructor(directory: string, redisPort: number, redis: Program) {
    this.#directory = directory;
    this.#redisPort = redisPort;
    this.#redis = redis;
  }

  static async create(): Promise<Setting> {
    const directory = await Deno.makeTempDir();
    const config = `${directory}/ratelimit/config`;
    await Deno.mkdir(config, { recursive: true });
    // The service counts nothing for a domain it has no file of; the limits themselves come with each request.
    await Deno.writeTextFile(`${config}/shop.yaml`, "domain: shop\n");
    const port = freePort();
    const redis = await startProgram(
      "redis-server",
      [
        ...["--port", `${port}`, "--bind", "127.0.0.1", "--save", ""],
        ...["--dir", directory],
      ],
      {},
      /Ready to accept connections/,
    );
    return new Setting(directory, port, redis);
  }

  startService(): Promise<Program> {
    const path = Deno.env.get("RATELIMIT_BIN");
    assert(path !== undefined, "RATELIMIT_BIN names no service");
    const host = "127.0.0.1";
    return startProgram(path, [], {
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: `${host}:${this.#redisPort}`,
      RUNTIME_ROOT: this.#directory,
      RUNTIME_SUBDIRECTORY: "ratelimit",
      RUNTIME_WATCH_ROOT: "false",
      USE_STATSD: "false",
      LOG_LEVEL: "warn",
      LIMIT_RESPONSE_HEADERS_ENABLED: "true",
      HOST: host,
      PORT: `${freePort()}`,
      DEBUG_HOST: host,
      DEBUG_PORT: `${freePort()}`,
      GRPC_HOST: host,
      GRPC_PORT: `${this.grpcPort}`,
    }, /Listening for gRPC/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis.kill();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** A limiter that has reached the service, which says that it listens before it does. */
async function openLimiter(port: number): Promise<ServiceLimiter> {
  const logger = createLogger({
    write: () => {},
    clock: systemClock,
    format: "text",
    filter: parseLogFilter("warn"),
  });
  const limiter = new ServiceLimiter({
    address: { host: "127.0.0.1", port, tls: undefined },
    domain: "shop",
    egress: openEgress,
    clock: systemClock,
    log: logger.module("ratelimit"),
  });
  await withinSeconds(2, () => limiter.open());
  return limiter;
}

/** Does something again and again until it succeeds. */
async function withinSeconds<T>(
  seconds: number,
  action: () => Promise<T>,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function perHour(
  unit: "requests" | "tokens",
  base: number,
  user: string,
): DescriptorUse {
  const budget = {
    unit,
    base,
    burst: 0,
    windowMs: 3_600_000,
    overshoot: "Forgive" as const,
  };
  return { index: 0, budget, entries: [["user", user]] };
}

async function admit(limiter: ServiceLimiter, use: DescriptorUse) {
  const decision = await limiter.admit([use]);
  assert.notEqual(decision.verdict, "failed", describeFailure(decision));
  return decision;
}

function describeFailure(decision: object): string {
  return "error" in decision && decision.error instanceof Error
    ? `${decision.error.message}: ${decision.error.cause}`
    : "";
}

async function untilReported(limiter: ServiceLimiter): Promise<void> {
  while (limiter.describe().pendingReports > 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

Deno.test("envoyproxy/ratelimit counts requests against the limit that the gateway sends", async () => {
  await using setting = await Setting.create();
  await using _service = await setting.startService();
  const limiter = await openLimiter(setting.grpcPort);
  const use = perHour("requests", 3, "anna");

  const decisions = [];
  for (let i = 0; i < 4; i++) decisions.push(await admit(limiter, use));
  await limiter.close();

  assert.deepEqual(
    decisions.map(({ verdict }) => verdict),
    ["admitted", "admitted", "admitted", "refused"],
  );
  const last = decisions[3];
  assert(last?.verdict === "refused");
  assert.equal(last.refusedBy?.limit, 3);
  assert.equal(last.refusedBy?.remaining, 0);
  assert.equal(last.refusedBy?.windowMs, 3_600_000);
  assert(last.refusedBy.resetMs > 0 && last.refusedBy.resetMs <= 3_600_000);
  const names = last.responseHeaders?.map(([name]) => name.toLowerCase());
  assert.deepEqual(names?.toSorted(), [
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
  ]);
});

Deno.test("envoyproxy/ratelimit charges tokens when they are reported and not before", async () => {
  await using setting = await Setting.create();
  await using _service = await setting.startService();
  const limiter = await openLimiter(setting.grpcPort);
  const use = perHour("tokens", 100, "bert");

  for (let i = 0; i < 5; i++) await admit(limiter, use);
  const untouched = await admit(limiter, use);
  limiter.debit([use], tokensUsed(60));
  await untilReported(limiter);
  const charged = await admit(limiter, use);
  limiter.debit([use], tokensUsed(60));
  await untilReported(limiter);
  const exhausted = await admit(limiter, use);
  await limiter.close();

  assert(untouched.verdict === "admitted" && charged.verdict === "admitted");
  assert.equal(untouched.readings[0]?.remaining, 100);
  assert.equal(charged.readings[0]?.remaining, 40);
  assert.equal(exhausted.verdict, "refused");
  assert.equal(limiter.describe().reportedTokens, 120);
});

Deno.test("envoyproxy/ratelimit is found again after a restart and remembers what was used", async () => {
  await using setting = await Setting.create();
  const first = await setting.startService();
  const limiter = await openLimiter(setting.grpcPort);
  const use = perHour("requests", 10, "carl");
  await admit(limiter, use);

  await first.kill();
  const down = await limiter.admit([use]);
  await using _second = await setting.startService();
  const after = await withinSeconds(2, () => admit(limiter, use));
  await limiter.close();

  assert.equal(down.verdict, "failed");
  assert(after.verdict === "admitted");
  assert.equal(after.readings[0]?.remaining, 8);
});
