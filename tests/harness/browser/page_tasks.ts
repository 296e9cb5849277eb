/** The work of a page, by Chromium's trace: on a busy machine, processor time tells more than the clock. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** Processor time of a page's main thread, in milliseconds. */
export interface TaskTimes {
  readonly longestTask: number;
  readonly total: number;
  /** The longest frame: the tasks from the first one that changes something until it is painted. */
  readonly longestFrame: number;
}

/** Measures the tasks of the page while `run` uses it. */
export async function measureTasks(
  page: Page,
  run: () => Promise<void>,
): Promise<TaskTimes> {
  const browser = page.context().browser();
  assert(browser !== null);
  const categories = ["toplevel", "devtools.timeline"];
  await browser.startTracing(page, { categories });
  await run();
  const trace = await browser.stopTracing();
  const { traceEvents }: { readonly traceEvents: readonly ChromiumEvent[] } =
    JSON.parse(trace.toString());
  const threads = new Set(
    traceEvents.filter(({ args }) => args?.name === "CrRendererMain").map(
      threadOf,
    ),
  );
  const tasks = outermost(
    traceEvents.filter((event) =>
      event.ph === "X" && threads.has(threadOf(event)) &&
      event.name.includes("RunTask")
    ),
  );
  const millisecondsOf = (some: readonly ChromiumEvent[]) =>
    some.reduce((sum, { tdur = 0 }) => sum + tdur, 0) / 1000;
  return {
    longestTask: Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000,
    total: millisecondsOf(tasks),
    longestFrame: Math.max(
      0,
      ...framesOf(traceEvents).map(([start, end]) =>
        millisecondsOf(tasks.filter(({ ts }) => ts >= start && ts < end))
      ),
    ),
  };
}

/** Returns the most processor time, in milliseconds, that one task of the page takes while `run` uses it. */
export async function longestTask(
  page: Page,
  run: () => Promise<void>,
): Promise<number> {
  return (await measureTasks(page, run)).longestTask;
}

interface ChromiumEvent {
  readonly name: string;
  /** `X` for a span; `b` and `e` for the beginning and the end of one with an ID. */
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Start in microseconds. */
  readonly ts: number;
  /** Microseconds. */
  readonly dur?: number;
  /** Microseconds of processor time. */
  readonly tdur?: number;
  readonly id?: string;
  readonly id2?: { readonly local?: string };
  readonly args?: { readonly name?: string };
}

function threadOf({ pid, tid }: ChromiumEvent): string {
  return `${pid}/${tid}`;
}

/** Leaves out tasks within tasks. */
function outermost(tasks: readonly ChromiumEvent[]): readonly ChromiumEvent[] {
  let end = 0;
  return tasks.toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
    .filter(({ ts, dur = 0 }) => {
      if (ts < end) return false;
      end = ts + dur;
      return true;
    });
}

/** Returns start and end of the frames. */
function framesOf(
  events: readonly ChromiumEvent[],
): readonly (readonly [number, number])[] {
  const starts = new Map<string, number>();
  return events.filter(({ name }) => name === "AnimationFrame")
    .toSorted((a, b) => a.ts - b.ts).flatMap((event) => {
      const { pid, ph, ts, id = "", id2 } = event;
      const key = `${pid} ${id} ${id2?.local ?? ""}`;
      if (ph === "b") starts.set(key, ts);
      const start = starts.get(key);
      return ph === "e" && start !== undefined ? [[start, ts] as const] : [];
    });
}
