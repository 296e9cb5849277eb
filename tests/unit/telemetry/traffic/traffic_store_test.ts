import assert from "node:assert/strict";
import type { FinishedRequest } from "../../../../src/telemetry/log/finished_request.ts";
import { MAX_NAMES } from "../../../../src/telemetry/traffic/named_points.ts";
import {
  type TrafficNews,
  TrafficRecorder,
} from "../../../../src/telemetry/traffic/traffic_recorder.ts";
import type { TrafficReport } from "../../../../src/telemetry/traffic/traffic_report.ts";
import { TrafficStore } from "../../../../src/telemetry/traffic/traffic_store.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { finishedRequest, tokenUsage } from "../finished_request.ts";

const MINUTE = 60_000;
/** A full quarter of an hour. */
const noon = Date.UTC(2026, 0, 1, 12);

/** Recorders of some threads, and the store of them all. */
class Site {
  now = noon;
  readonly #clock = { now: () => this.now };
  readonly store = new TrafficStore(
    this.#clock,
  );
  readonly recorders: readonly TrafficRecorder[];

  constructor(threads = 1) {
    this.recorders = Array.from(
      { length: threads },
      () => new TrafficRecorder(new FakeClock(), (news) => this.#add(news)),
    );
  }

  record(
    request: Partial<FinishedRequest>,
    { key: client = "", thread = 0 } = {},
  ): void {
    const record = { ...finishedRequest, client, time: this.now };
    this.recorders[thread]?.record({ ...record, durationMs: 0, ...request });
  }

  report(
    query: Partial<Parameters<TrafficStore["report"]>[0]> = {},
  ): TrafficReport {
    for (const recorder of this.recorders) recorder.send();
    return this.store.report({ range: "15m", by: "route", ...query });
  }

  #add(news: TrafficNews): void {
    // As messages between threads are.
    this.store.add(structuredClone(news));
  }
}

Deno.test("requests are counted by status, route, backend, model and key, with tokens and cost", () => {
  const site = new Site();
  site.now += 20_000;
  site.record({ route: "chat", backend: "openai", usage: tokenUsage }, {
    key: "anna",
  });
  site.record({ route: "chat", backend: "openai", status: 404 });
  site.record({ route: "tools", backend: undefined, status: 503 });

  const { figures } = site.report();
  assert.equal(figures.requests, 3);
  assert.equal(figures.clientErrors, 1);
  assert.equal(figures.serverErrors, 1);
  assert.equal(figures.inputTokens, 100);
  assert.equal(figures.outputTokens, 20);
  assert.equal(figures.costUsd, 2.5);
  const counts = (by: "route" | "backend" | "model" | "key") =>
    site.report({ by }).rows.map(({ name, requests }) => [name, requests]);
  assert.deepEqual(counts("route"), [["chat", 2], ["tools", 1]]);
  assert.deepEqual(counts("backend"), [["openai", 2], ["", 1]]);
  assert.deepEqual(counts("model"), [["gpt-5", 1]]);
  assert.deepEqual(counts("key"), [["anna", 1]]);
});

Deno.test("the requests of all threads are summed, whenever they are handed over", () => {
  const site = new Site(3);
  for (let second = 0; second < 40; second++) {
    site.now = noon + second * 1000;
    for (const thread of [0, 1, 2]) {
      // The third thread is idle after the first second.
      if (thread < 2 || second === 0) {
        site.record({ durationMs: thread === 1 ? 500 : 5 }, { thread });
      }
    }
  }

  site.now += 1000;
  const { figures, series } = site.report();
  assert.equal(figures.requests, 81);
  assert((figures.p50 ?? 0) > 4 && (figures.p95 ?? 0) > 450);
  assert.deepEqual(series.requests.slice(-3), [31 / 15, 2, 2].map(round));
});

Deno.test("a step that has just begun has no latency yet, as it has no rate", () => {
  const site = new Site();
  for (let index = 0; index < 20; index++) site.record({ durationMs: 900 });
  site.now = noon + 15_000;
  site.record({ durationMs: 1 });

  site.now += 2000;
  const { series } = site.report();
  const lastOf = (values: readonly (number | null)[]) => values.at(-1);
  assert.deepEqual([lastOf(series.requests), lastOf(series.p95)], [null, null]);
  assert((series.p95.at(-2) ?? 0) > 800);

  site.now += 10_000;
  assert((site.report().series.p95.at(-1) ?? 0) > 0);
});

function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

Deno.test("a flood of names that come once does not replace those that come often, and is bounded", () => {
  const site = new Site();
  for (let index = 0; index < 20_000; index++) {
    site.record({}, { key: `once ${index}` });
    if (index % 20 === 0) site.record({}, { key: "often" });
  }

  const { rows, figures } = site.report({ by: "key" });
  const [first] = rows;
  assert.equal(rows.length, MAX_NAMES + 1);
  assert.equal(first?.name, "often");
  assert.equal(first.requests, 1000);
  assert.equal(rows.at(-1)?.name, null);
  const sum = rows.reduce((all, { requests }) => all + requests, 0);
  assert.equal(sum, figures.requests);
});

Deno.test("floods in later buckets do not replace names of earlier ones that came more often", () => {
  const site = new Site();
  for (let index = 0; index < 100; index++) site.record({}, { key: "often" });
  for (let span = 1; span < 40; span++) {
    site.now = noon + span * 15_000;
    for (let index = 0; index < 100; index++) {
      site.record({}, { key: `${span} ${index}` });
    }
  }

  for (const range of ["15m", "1h", "24h"] as const) {
    const { rows } = site.report({ by: "key", range });
    assert.equal(rows[0]?.name, "often", range);
    assert.equal(rows.length, MAX_NAMES + 1, range);
  }
});

Deno.test("long names are cut", () => {
  const site = new Site();
  site.record({ usage: { ...tokenUsage, responseModel: "m".repeat(9999) } });

  assert.equal(site.report({ by: "model" }).rows[0]?.name?.length, 200);
});

Deno.test("each range forgets what is older, and shows nothing before the start", () => {
  const site = new Site();
  site.record({});
  site.now = noon + 20 * MINUTE;

  assert.equal(site.report({ range: "15m" }).figures.requests, 0);
  assert.equal(site.report({ range: "1h" }).figures.requests, 1);
  const before = site.report({ range: "1h" }).series.requests;
  assert.equal(before[0], null);
  assert.equal(before.at(-2), 0);
  site.now = noon + 61 * MINUTE;
  assert.equal(site.report({ range: "1h" }).figures.requests, 0);
  assert.equal(site.report({ range: "24h" }).figures.requests, 1);
  site.now = noon + 25 * 60 * MINUTE;
  assert.equal(site.report({ range: "24h" }).figures.requests, 0);
});

Deno.test("what a thread hands over late is counted where it belongs, or not at all", () => {
  const site = new Site();
  site.record({ route: "late" });
  site.now = noon + 16 * MINUTE;

  assert.equal(site.report({ range: "15m" }).figures.requests, 0);
  const { series } = site.report({ range: "1h" });
  assert.equal(series.requests.at(-17), round(1 / 60));
});

Deno.test("a clock that is set back loses nothing from then on", () => {
  const site = new Site();
  site.record({});
  site.report();
  site.now = noon - 180 * MINUTE;
  site.record({});

  assert.equal(site.report().figures.requests, 1);
});

Deno.test("one name has curves and figures of its own", () => {
  const site = new Site();
  site.now += 1000;
  site.record({
    route: "chat",
    durationMs: 800,
    firstTokenMs: 200,
    usage: tokenUsage,
  });
  site.record({ route: "tools", durationMs: 5 });
  site.now += 13_000;

  const { figures, series, rows } = site.report({ name: "chat" });
  assert.equal(figures.requests, 1);
  assert((figures.p95 ?? 0) > 650 && (figures.p95 ?? 0) < 960);
  assert(
    (figures.firstToken50 ?? 0) > 165 && (figures.firstToken50 ?? 0) < 240,
  );
  assert.equal(series.requests.at(-1), round(1 / 14));
  assert.equal(series.costUsd.at(-1), round(2.5 / 14 * 3600));
  assert.equal(rows.length, 2);
  assert.equal(site.report({ name: "none" }).figures.requests, 0);
});

Deno.test("names with equally many requests are in the order of the alphabet", () => {
  const site = new Site();
  for (const route of ["b", "c", "a", "c"]) site.record({ route });

  const names = site.report().rows.map(({ name }) => name);
  assert.deepEqual(names, ["c", "a", "b"]);
});

Deno.test("a step that has just begun has no rate yet", () => {
  const site = new Site();
  site.now += 15_500;
  site.record({});

  const { series } = site.report();
  assert.equal(series.requests.at(-1), null);
  assert.equal(series.requests.at(-2), 0);
});
