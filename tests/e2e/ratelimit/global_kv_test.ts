import assert from "node:assert/strict";
import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";
import type {
  DescriptorUse,
  LimiterDecision,
} from "../../../src/ratelimit/limiter/global_limiter.ts";
import { KvLimiter } from "../../../src/ratelimit/kv/kv_limiter.ts";
import { KvConnectServer } from "../../harness/servers/kv_connect_server.ts";

const CAPACITY = 5000;
/** Largest lease of a process: an eighth of the remaining budget, and one for each waiting request. */
const LARGEST_LOSS = CAPACITY / 8 + 25;

Deno.test("four processes on one file admit 5 000 of 20 000 requests", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await runFour(`${directory}/limits.db`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("four processes on a KV Connect server admit 5 000 of 20 000 requests", async () => {
  await using server = new KvConnectServer();

  await runFour(server.url);
});

Deno.test("a process that is killed loses no more than its lease", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/limits.db`;
    const victim = start(path);
    const others = [start(path), start(path), start(path)];

    const whenKilled = await outputOf(victim, 300);
    const outputs = await Promise.all(others.map((one) => outputOf(one)));

    const admitted = countAdmitted([whenKilled, ...outputs]);
    assert(admitted <= CAPACITY, `${admitted}`);
    assert(admitted >= CAPACITY - LARGEST_LOSS, `${admitted}`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("KvLimiter survives the outage of a KV Connect server", async () => {
  Deno.env.set("DENO_KV_ACCESS_TOKEN", KvConnectServer.token);
  await using server = new KvConnectServer();
  const limiter = new KvLimiter({ path: server.url, domain: "test" });
  const uses = [{ index: 0, budget: budgetOf(10), entries: [] }];
  try {
    const first = await admitInTime(limiter, uses);
    await server.stop();
    const down = await limiter.admit(uses);
    server.start();
    const back = await admitInTime(limiter, uses);

    assert.equal(first.verdict, "admitted");
    assert.equal(down.verdict, "failed");
    assert.equal(back.verdict, "admitted");
  } finally {
    await limiter.close();
  }
});

/** Returns the decision of the store, once it responds in time. */
async function admitInTime(
  limiter: KvLimiter,
  uses: readonly DescriptorUse[],
): Promise<LimiterDecision> {
  for (;;) {
    const decision = await limiter.admit(uses);
    if (decision.verdict !== "failed") return decision;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function runFour(path: string): Promise<void> {
  const processes = Array.from({ length: 4 }, () => start(path));
  const outputs = await Promise.all(processes.map((one) => outputOf(one)));
  assert.equal(countAdmitted(outputs), CAPACITY);
}

function start(path: string): Deno.ChildProcess {
  const program = new URL(
    "../../harness/process/limiter_program.ts",
    import.meta.url,
  );
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program.pathname, path, `${CAPACITY}`, "5000"],
    env: { DENO_KV_ACCESS_TOKEN: KvConnectServer.token },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

/** Returns the output of a process, which is killed after `killAfter` letters. */
async function outputOf(
  child: Deno.ChildProcess,
  killAfter = Infinity,
): Promise<string> {
  let output = "";
  let isKilled = false;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    if (output.length < killAfter || isKilled) continue;
    isKilled = true;
    child.kill("SIGKILL");
  }
  const { signal } = await child.status;
  assert.equal(signal, isKilled ? "SIGKILL" : null);
  return output;
}

function countAdmitted(outputs: readonly string[]): number {
  const output = outputs.join("");
  assert(!output.includes("f"), "some requests failed");
  return output.length;
}

function budgetOf(base: number): BudgetDefinition {
  return {
    unit: "requests",
    base,
    burst: 0,
    windowMs: 3_600_000,
    overshoot: "Forgive",
  };
}
