/** A web UI that is open: what it costs the gateway, how long its frames take, and how much memory its tab has. */
import type { CDPSession, Page } from "playwright-core";
import type { GatewayProcess } from "../harness/gateway/gateway_process.ts";
import {
  contentOf,
  sendLive,
  startLargeGateway,
} from "../harness/browser/large_gateway.ts";
import { measureTasks } from "../harness/browser/page_tasks.ts";
import { openUi, showView, views } from "../harness/browser/ui_page.ts";
import { type Finding, sleep } from "./drill.ts";

const ROUTES = 5000;
const LIVE_PER_SECOND = 50;
const FRAME_SECONDS = 20;
const PAIRS = 7;
const COST_SECONDS = 10;
const MIB = 1024 * 1024;
const SETTLING_MS = 20_000;
const sizes = { routes: ROUTES, keys: 100_000 };

const pages = ["Traffic", "Requests", "Topology"];

/** Five thousand routes and a live log: no frame may take 50 ms. */
export async function uiFrames(): Promise<Finding[]> {
  await using gateway = await startLargeGateway(sizes);
  await using _load = sendLive(gateway, sizes, LIVE_PER_SECOND);
  await using ui = await openUi(`${gateway.process.admin}/ui`);
  const { page } = ui;
  const findings: Finding[] = [];
  for (const name of pages) {
    await page.evaluate(watchFrames);
    const { longestTask, longestFrame } = await measureTasks(page, async () => {
      await showView(page, name);
      for (let second = 0; second < FRAME_SECONDS; second++) {
        await sleep(1000);
        await page.mouse.move(500 + second * 5, 300 + second * 5);
        await page.mouse.wheel(0, second % 2 === 0 ? 600 : -600);
      }
    });
    findings.push({
      drill: `${name}: ${ROUTES} routes, ${LIVE_PER_SECOND} requests/s`,
      figures: {
        "longest task": `${longestTask.toFixed(1)} ms of processor time`,
        "longest frame": `${longestFrame.toFixed(1)} ms of processor time`,
        "frames above 50 ms": String(await page.evaluate("longFrames")),
        "of which the page blocked": String(
          await page.evaluate("blockedFrames"),
        ),
      },
    });
  }
  return findings;
}

/** Loads every page of a gateway with 5,000 routes and 100,000 keys: each should show its content within a second. */
export async function uiPages(): Promise<Finding[]> {
  await using gateway = await startLargeGateway(sizes);
  await using _load = sendLive(gateway, sizes, LIVE_PER_SECOND);
  const { pid, admin } = gateway.process;
  await using ui = await openUi(`${admin}/ui`);
  const { page } = ui;
  // Keys are read from the store, and failures remembered.
  await sleep(SETTLING_MS);
  const findings: Finding[] = [];
  for (const name of views) {
    await page.goto("about:blank");
    const before = await processorMicros(pid);
    let ready = 0;
    let gatewayMs = 0;
    const times = await measureTasks(page, async () => {
      const startedAt = performance.now();
      await page.goto(`${admin}/ui#${pageOf(name)}`);
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await contentOf[name]?.(page);
      ready = performance.now() - startedAt;
      gatewayMs = (await processorMicros(pid) - before) / 1000;
    });
    findings.push({
      drill: `${name}: ${ROUTES} routes, ${sizes.keys} keys`,
      figures: {
        ready: `${ready.toFixed(0)} ms`,
        "processor time of the page": `${times.total.toFixed(0)} ms`,
        "of the gateway": `${gatewayMs.toFixed(0)} ms`,
        "longest task": `${times.longestTask.toFixed(1)} ms`,
        "longest frame": `${times.longestFrame.toFixed(1)} ms`,
      },
    });
  }
  return findings;
}

/** Returns the name of a page in its address. */
function pageOf(title: string): string {
  return title.toLowerCase().replace(/ .*/, "");
}

/**
 * Lists the durations of frames that took more than 50 ms of wall time, and counts those with a task that did. In the others the
 * browser waited, for its own threads or for the processor.
 */
const watchFrames = `
  globalThis.longFrames = [];
  globalThis.blockedFrames = 0;
  globalThis.frameObserver?.disconnect();
  globalThis.frameObserver = new PerformanceObserver((list) => {
    for (const { duration, blockingDuration } of list.getEntries()) {
      globalThis.longFrames.push(Math.round(duration));
      if (blockingDuration > 0) globalThis.blockedFrames++;
    }
  });
  globalThis.frameObserver.observe({ type: "long-animation-frame" });
  undefined;
`;

/** Tabs with a live log, charts and the topology, for MINUTES: their memory has to stay level. */
export async function uiMemory(): Promise<Finding[]> {
  const minutes = Number(Deno.env.get("MINUTES") ?? 30);
  await using gateway = await startLargeGateway(sizes);
  await using _load = sendLive(gateway, sizes, LIVE_PER_SECOND);
  const tabs = await Promise.all(
    ["requests", "traffic", "topology"].map(async (name) => {
      const ui = await openUi(`${gateway.process.admin}/ui#${name}`);
      const session = await ui.page.context().newCDPSession(ui.page);
      await session.send("Performance.enable");
      return { name, ui, session };
    }),
  );
  const series = new Map<string, string[]>();
  for (let minute = 0; minute <= minutes; minute++) {
    await sleep(60_000);
    for (const { name, session } of tabs) {
      const heap = await usedHeap(session);
      const text = (heap / MIB).toFixed(2);
      series.set(name, [...series.get(name) ?? [], text]);
      Deno.stderr.writeSync(
        new TextEncoder().encode(`minute ${minute} ${name} ${text} MiB\n`),
      );
    }
  }
  for (const { ui } of tabs) await ui[Symbol.asyncDispose]();
  return [...series].map(([name, values]) => ({
    drill: `memory of the tab ${name}, each minute`,
    figures: { MiB: values.join(" ") },
  }));
}

/** Returns the bytes of the heap that are in use after a collection. */
async function usedHeap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? NaN;
}

/** Processor time of the gateway with the page open and closed, in turns: what is left of a core is there for requests. */
export async function uiCost(): Promise<Finding[]> {
  const few = { routes: 100, keys: 0 };
  await using gateway = await startLargeGateway(few);
  await using ui = await openUi(`${gateway.process.admin}/ui`);
  await using _load = sendLive(gateway, few, LIVE_PER_SECOND);
  const findings: Finding[] = [];
  await loadOf(gateway.process);
  for (const name of pages) {
    const shares: Record<"open" | "closed", number[]> = {
      open: [],
      closed: [],
    };
    for (let pair = 0; pair < PAIRS; pair++) {
      // Which one is first alternates.
      for (const isOpen of pair % 2 === 0 ? [true, false] : [false, true]) {
        await show(
          ui.page,
          isOpen ? `${gateway.process.admin}/ui#${name}` : undefined,
        );
        shares[isOpen ? "open" : "closed"].push(await loadOf(gateway.process));
      }
    }
    const costs = shares.open.map((open, pair) =>
      open - (shares.closed[pair] ?? NaN)
    );
    findings.push({
      drill: `${name} open, ${LIVE_PER_SECOND} requests/s, ${PAIRS} pairs`,
      figures: {
        open: percentOf(medianOf(shares.open)),
        closed: percentOf(medianOf(shares.closed)),
        "median cost": percentOf(medianOf(costs)),
        all: costs.map(percentOf).join(" "),
      },
    });
  }
  return findings;
}

async function show(page: Page, url: string | undefined): Promise<void> {
  await page.goto("about:blank");
  if (url === undefined) return;
  await page.goto(url.toLowerCase());
  await page.getByRole("heading", { level: 1 }).waitFor();
}

/** Returns the share of a core that the gateway uses. */
async function loadOf({ pid }: GatewayProcess): Promise<number> {
  const before = await processorMicros(pid);
  const startedAt = performance.now();
  await sleep(COST_SECONDS * 1000);
  const passed = (performance.now() - startedAt) * 1000;
  return (await processorMicros(pid) - before) / passed;
}

function percentOf(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

/** Ticks of `/proc` are 10 ms long. */
const TICK_MICROS = 10_000;

async function processorMicros(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}
