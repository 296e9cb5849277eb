import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import {
  estimateInput,
  estimateLongInput,
} from "../../../../src/llm/request/input_estimate.ts";
import { readOutputLimit } from "../../../../src/llm/request/output_bound.ts";
import { readRequestFacts } from "../../../../src/llm/request/request_facts.ts";

const MIB = 1 << 20;

/** Returns how many turns of the event loop others have while some work is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOver = true;
  return turns;
}

function bodyOf(content: unknown): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
  );
}

const words = 'The "quick" brown fox. ';
const bodies = {
  "one long text": bodyOf(words.repeat(8 * MIB / words.length)),
  "many short texts": bodyOf(Array(MIB).fill("fox")),
  "an image": bodyOf([{
    ...{ type: "image_url" },
    image_url: { url: `data:image/png;base64,${"A".repeat(8 * MIB)}` },
  }]),
};

for (const [what, body] of Object.entries(bodies)) {
  const work = {
    estimateLongInput: () => estimateLongInput(body),
    readRequestFacts: () => readRequestFacts(body),
    readOutputLimit: () => readOutputLimit(body),
  };
  for (const [name, run] of Object.entries(work)) {
    Deno.test(`${name} lets other requests go on while it reads ${what} of several MiB`, async () => {
      const mebibytes = Math.floor(body.length / MIB);
      // Each pass of the turnstile has 61 turns.
      assert.ok(await turnsDuring(run) >= (mebibytes - 1) * 61);
    });
  }
}

Deno.test("the estimate of a long body is that of a short one", async () => {
  for (const body of Object.values(bodies)) {
    assert.equal(await estimateLongInput(body), estimateInput(body));
  }
  assert.ok(estimateInput(bodies["an image"]) < 1700);
});

Deno.test("a long string is read as a whole, and one that breaks off is no JSON", async () => {
  const long = bodyOf(`${"a\\".repeat(3 * MIB)}"`);
  const { model, spans } = await readRequestFacts(long);
  assert.equal(model, "m");
  assert.equal(spans?.get("")?.end, long.length);
  for (const cut of [1, 4, 2 * MIB]) {
    const part = await readRequestFacts(long.subarray(0, long.length - cut));
    assert.equal(part.spans, undefined);
  }
});
