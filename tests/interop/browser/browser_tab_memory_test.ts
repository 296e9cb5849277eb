import assert from "node:assert/strict";
import type { CDPSession } from "playwright-core";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import { openUi } from "../../harness/browser/ui_page.ts";

const KIB = 1024;
/** Time of the page between two looks, in milliseconds: about that between two requests for data. */
const STEP_MS = 5000;
/** Minutes until code is compiled and lists are full, and those that are measured. */
const WARM_UP = 10;
const MINUTES = 30;
/** Requests between two looks until the list of a page is full; the gateway remembers a few hundred of one route. */
const REQUESTS = 100;
const MAX_BATCHES = 100;
/** A leak grows in each span; code that becomes hot, or a list that fills, in one. */
const SPANS = 3;
/** Growth that is no leak: what the engine keeps of code that has become hot. A kibibyte for each response would be 360. */
const MOST_KIB = 256;

for (const fragment of ["traffic", "requests"]) {
  Deno.test(`the tab of the page ${fragment} does not grow within ${MINUTES} minutes`, async () => {
    await using gateway = await startTracedGateway({
      routes: [{
        name: "a",
        // Of failures, every one is recorded.
        policies: { directResponse: { status: 503, body: "a" } },
      }],
    });
    const send = async () => await (await fetch(gateway.origin)).text();

    await using ui = await openUi("about:blank");
    const { page } = ui;
    await page.clock.install();
    await page.goto(`${gateway.admin}/ui/#${fragment}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const pass = async (minutes: number) => {
      for (let at = 0; at < minutes * 60_000; at += STEP_MS) {
        await send();
        await page.clock.runFor(STEP_MS);
      }
    };

    const count = page.getByText("1000 requests", { exact: true });
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      for (let count = 0; count < REQUESTS; count++) await send();
      await page.clock.runFor(STEP_MS);
      if (fragment !== "requests" || await count.isVisible()) break;
    }
    await pass(WARM_UP);
    const grown: number[] = [];
    for (let before = await usedHeap(session); grown.length < SPANS;) {
      await pass(MINUTES);
      const now = await usedHeap(session);
      grown.push(Math.round((now - before) / KIB));
      if (now - before < MOST_KIB * KIB) return;
      before = now;
    }
    assert.fail(`the heap has grown by ${grown.join(", ")} KiB`);
  });
}

/** Returns the bytes of the heap that are in use after a collection. */
async function usedHeap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? NaN;
}
