/**
 * Sends requests to a global budget and writes `a` for each admitted request, `f` for each failure.
 * Arguments: path of the store, capacity, number of requests.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- shows the reason of a failure
import type { DescriptorUse } from "../../../src/ratelimit/limiter/global_limiter.ts";
import { KvLimiter } from "../../../src/ratelimit/kv/kv_limiter.ts";

const [path = "", base, requests] = Deno.args;
const BATCH = 25;
const PAUSE_MS = 5;

const use: DescriptorUse = {
  index: 0,
  budget: {
    unit: "requests",
    base: Number(base),
    burst: 0,
    windowMs: 3_600_000,
    overshoot: "Forgive",
  },
  entries: [["team", "all"]],
};
const limiter = new KvLimiter({ path, domain: "test", waitMs: 300_000 });

async function send(): Promise<void> {
  const decision = await limiter.admit([use]);
  const { verdict } = decision;
  if (verdict === "refused") return;
  if (verdict === "failed") console.error(decision.error);
  const letter = verdict === "admitted" ? "a" : "f";
  Deno.stdout.writeSync(new TextEncoder().encode(letter));
}

for (let sent = 0; sent < Number(requests); sent += BATCH) {
  await Promise.all(Array.from({ length: BATCH }, send));
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
await limiter.close();
