/** Pages of the web UI of a gateway with 5,000 routes, of two policies each. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import {
  contentOf,
  sendLive,
  startLargeGateway,
} from "../../harness/browser/large_gateway.ts";
import { measureTasks } from "../../harness/browser/page_tasks.ts";
import {
  expectQuiet,
  openUi,
  showView,
  views,
} from "../../harness/browser/ui_page.ts";

const sizes = { routes: 5000, keys: 1000 };

/** Processor time: some 30 ms on a machine that does nothing else. */
const MOST_MS = 200;
/** Elements of a page: a row for each route would be ten times as many. */
const MOST_ELEMENTS = 4000;
/** Length of a response: the source of the configuration, or an outline of it. */
const MOST_BYTES = 1_500_000;

/** Returns how many elements the page has, and how long its longest response since the last call is. */
async function sizeOf(page: Page) {
  return await page.evaluate(() => {
    const lengths = performance.getEntriesByType("resource").map((entry) =>
      "decodedBodySize" in entry && entry.name.includes("/api/")
        ? Number(entry.decodedBodySize)
        : 0
    );
    performance.clearResourceTimings();
    // deno-lint-ignore no-explicit-any -- the types of the page are not ours
    const { document } = globalThis as any;
    return {
      elements: Number(document.querySelectorAll("*").length),
      bytes: Math.max(0, ...lengths),
    };
  });
}

Deno.test("with 5,000 routes, no page has a task or a frame that takes long, reads much or has many elements", async () => {
  await using gateway = await startLargeGateway(sizes);
  await using _load = sendLive(gateway, sizes, 50);
  await using ui = await openUi(`${gateway.process.admin}/ui`);
  const { page } = ui;
  const long: string[] = [];

  for (const view of views) {
    const { longestTask, longestFrame } = await measureTasks(page, async () => {
      await showView(page, view);
      await contentOf[view]?.(page);
      // Later parts of tables, and the next data, are drawn too.
      await page.mouse.move(600, 400);
      await page.mouse.wheel(0, 900);
      await page.evaluate(
        "new Promise((resolve) => requestIdleCallback(resolve, { timeout: 3000 }))",
      );
    });
    const { elements, bytes } = await sizeOf(page);
    if (elements > MOST_ELEMENTS || bytes > MOST_BYTES) {
      long.push(`${view}: ${elements} elements, ${bytes} bytes`);
    }
    if (Math.max(longestTask, longestFrame) < MOST_MS) continue;
    long.push(`${view}: ${longestTask} ms, in a frame ${longestFrame} ms`);
  }

  assert.deepEqual(long, []);
  expectQuiet(ui, gateway.process.admin);
});

Deno.test("the topology reads a list of 5,000 routes, and the details of the one that is selected", async () => {
  await using gateway = await startLargeGateway(sizes);
  await using ui = await openUi(`${gateway.process.admin}/ui#topology`);
  const { page } = ui;
  await contentOf["Topology"]?.(page);

  const bytes = await page.evaluate(
    () =>
      performance.getEntriesByType("resource")
        .filter(({ name }) => name.endsWith("/api/config"))
        .map((entry) => "decodedBodySize" in entry && entry.decodedBodySize),
  );
  await page.getByRole("searchbox").fill("route-4711");
  await page.getByRole("option", { name: "route-4711" }).first().click();
  const policies = page.getByRole("table", { name: "Policies in force" });
  const limit = policies.getByRole("row", { name: /rateLimit/ });
  const limitText = await limit.innerText();
  await limit.getByRole("link").click();
  await page.getByRole("heading", { level: 2, name: "rateLimit" }).waitFor();
  await page.getByText("As JSON").click();
  await page.getByRole("region", { name: "rateLimit as JSON" })
    .getByText("default/route-4711/policies").waitFor();

  // Two policies of each route included; 3.2 MB with their values.
  assert.equal(bytes.length, 1);
  assert(Number(bytes[0]) < 2_000_000, `${bytes[0]} bytes`);
  assert.match(limitText, /1000[^]*Seconds/);
  expectQuiet(ui, gateway.process.admin);
});

Deno.test("a long table has a hundred rows, and more on request; long lists of routes are searched", async () => {
  await using gateway = await startLargeGateway(sizes);
  await using ui = await openUi(`${gateway.process.admin}/ui#keys`);
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Teams" }).locator("tbody tr");

  await page.getByRole("button", { name: "Show 100 more of 500" }).waitFor();
  await rows.nth(99).waitFor();
  const before = await rows.count();
  await page.getByRole("button", { name: "Show 100 more of 500" }).click();
  await rows.nth(199).waitFor();
  await showView(page, "Memory");
  await page.getByText(/ emptier ones are left out/).waitFor();
  await showView(page, "Playground");
  await page.getByLabel("Route", { exact: true }).fill("route-4711");
  const url = await page.getByLabel("URL").inputValue();

  assert.equal(before, 100);
  assert.match(url, /\/r\/4711$/);
  expectQuiet(ui, gateway.process.admin);
});
