import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { LlmAnswer } from "../../../harness/llm/llm_upstream.ts";
import {
  openTokenBudget,
  type TokenBudget,
} from "../../../harness/llm/token_budget.ts";
import { bytesOf, events, json, sse } from "../../../unit/llm/llm_responses.ts";

const noise = crypto.getRandomValues(new Uint8Array(64 * 1024));
const chunk = { choices: [{ delta: { content: noise.toBase64() } }] };
/** Noise does not get smaller: what is kept of an answer shows in memory. */
const half: LlmAnswer = {
  contentType: sse,
  body: bytesOf(events(chunk, chunk, chunk, chunk)),
  coding: "gzip",
  hangs: true,
};
const batch = 20;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Begins to read an answer, and leaves. */
async function leaveEarly(limited: TokenBudget): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${limited.origin}/v1/messages`, {
    method: "POST",
    headers: { "content-type": json },
    body: '{"stream":true}',
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  leaving.abort();
}

async function leaveMany(limited: TokenBudget, count: number): Promise<void> {
  for (let done = 0; done < count; done += batch) {
    await Promise.all(
      Array.from({ length: batch }, () => leaveEarly(limited)),
    );
  }
}

/** Memory in use, in MiB, once everything is collected that can be. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = Deno.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

Deno.test("streams in gzip whose clients disconnect are all charged and leave nothing in memory", async () => {
  await using limited = await openTokenBudget(half, { tokens: 2 ** 31 - 1 });
  await leaveMany(limited, 100);
  await limited.finished(100);
  const before = memoryInUse();

  await leaveMany(limited, 400);
  await limited.finished(500);

  assert.equal(await limited.answers("estimated"), 500);
  const grown = memoryInUse() - before;
  // The answers together have 100 MiB in gzip, and 140 MiB without.
  assert(grown < 30, `grew by ${grown.toFixed(0)} MiB`);
});
