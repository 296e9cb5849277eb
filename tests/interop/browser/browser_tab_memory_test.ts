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
/** Requests that fill the lists of a page, which hold 1,000; the gateway remembers fewer of one route. */
const REQUESTS = 100;
const BATCHES = 12;
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

    for (let batch = 0; batch < BATCHES; batch++) {
      for (let count = 0; count < REQUESTS; count++) await send();
      await page.clock.runFor(STEP_MS);
    }
    await pass(WARM_UP);
    const before = await usedHeap(session);
    await pass(MINUTES);
    const grown = (await usedHeap(session) - before) / KIB;

    assert(grown < MOST_KIB, `the heap has grown by ${grown.toFixed(0)} KiB`);
  });
}

/** Returns the bytes of the heap that are in use after a collection. */
async function usedHeap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? NaN;
}
