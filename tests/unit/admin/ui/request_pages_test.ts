import assert from "node:assert/strict";
import {
  addPage,
  MAX_REQUESTS,
} from "../../../../admin/ui/page/pages/requests/request_line.ts";
import type {
  LoggedRequest,
  RequestPage,
  RequestReport,
} from "../../../../src/telemetry/requests/logged_request.ts";
import { phasesOf } from "../../../../admin/ui/page/pages/requests/request_phases.ts";
import * as requestView from "../../../../admin/ui/page/pages/requests/request_view.ts";
import * as trafficView from "../../../../admin/ui/page/pages/traffic/traffic_view.ts";

function line(recordedAt: number, record = `0-s${recordedAt}`): LoggedRequest {
  return {
    record,
    id: "id",
    time: "2026-01-01T00:00:00.000Z",
    recordedAt,
    status: 200,
    hasFailed: false,
    cause: null,
    reason: "upstream",
    method: "GET",
    host: "a",
    path: "/",
    gateway: null,
    route: null,
    backend: null,
    model: null,
    mcpServer: null,
    mcpTool: null,
    key: null,
    durationMs: 1,
    firstTokenMs: null,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    retries: 0,
  };
}

function add(
  log: RequestPage | undefined,
  requests: readonly LoggedRequest[],
  successes = 100,
): RequestPage {
  return addPage(log, { takenAt: 0, requests, successes, sampled: 1 });
}

function timesOf({ requests }: RequestPage): readonly number[] {
  return requests.map(({ recordedAt }) => recordedAt);
}

Deno.test("pages that overlap make one list, the newest first", () => {
  const log = add(add(undefined, [line(3), line(1)]), [
    line(5),
    line(3),
    line(2),
  ]);

  assert.deepEqual(timesOf(log), [5, 3, 2, 1]);
});

Deno.test("a page without news leaves the list as it is", () => {
  const before = add(undefined, [line(1)]);

  assert.equal(add(before, [line(1)], 101).requests, before.requests);
});

Deno.test("the list is bounded, and begins again with the gateway", () => {
  const many = Array.from({ length: MAX_REQUESTS + 5 }, (_, at) => line(at));
  const log = add(undefined, many);
  const restarted = add(log, [line(1)], 1);

  assert.equal(log.requests.length, MAX_REQUESTS);
  assert.equal(log.requests[0]?.recordedAt, MAX_REQUESTS + 4);
  assert.deepEqual(timesOf(restarted), [1]);
});

function reportOf(
  calls: RequestReport["calls"],
  fields: Partial<RequestReport> = {},
): RequestReport {
  return {
    ...line(0),
    cause: null,
    failing: null,
    advice: null,
    routeKey: null,
    calls,
    events: [],
    durationMs: 100,
    ...fields,
  };
}

function spansOf(report: RequestReport): readonly string[] {
  return phasesOf(report).map(({ name, from, to, tone }) =>
    `${name} ${from}-${to} ${tone}`
  );
}

Deno.test("the time of a request is divided among gateway, attempts and body", () => {
  const failed: RequestReport["calls"][number] = {
    endpoint: "a:1",
    status: null,
    error: "It closed",
    startMs: 2,
    endMs: 10,
  };
  const last: RequestReport["calls"][number] = {
    endpoint: "b:1",
    status: 200,
    error: null,
    startMs: 12,
    endMs: 40,
  };

  assert.deepEqual(spansOf(reportOf([failed, last])), [
    "Gateway 0-2 accent",
    "a:1: It closed 2-10 bad",
    "b:1: 200 12-40 good",
    "Response body 40-100 accent",
  ]);
  assert.deepEqual(spansOf(reportOf([last], { firstTokenMs: 60 })).slice(2), [
    "Until the first token 40-60 quiet",
    "Tokens 60-100 accent",
  ]);
  assert.deepEqual(spansOf(reportOf([])), ["Gateway 0-100 accent"]);
  assert.deepEqual(spansOf(reportOf([], { durationMs: null })), []);
});

Deno.test("the address of the traffic names what is shown", () => {
  const { readView, writeView, pathOf } = trafficView;
  const view = { range: "24h", by: "model", name: "org/gpt 5" } as const;

  assert.deepEqual(readView(writeView(view)), view);
  assert.deepEqual(readView("nonsense"), {
    range: "15m",
    by: "route",
    name: undefined,
  });
  assert.equal(
    pathOf(view),
    "traffic?range=24h&by=model&name=org%2Fgpt+5",
  );
  assert.equal(readView("1h/key/").name, "");
});

Deno.test("the address of the requests names the filter and the open request", () => {
  const { readView, writeView, noFilter, traceFilterOf } = requestView;
  const view = {
    filter: { ...noFilter, status: "failed", text: "a&b=c" } as const,
    open: "1-f2",
  };

  assert.deepEqual(readView(writeView(view)), view);
  assert.deepEqual(readView("status=nonsense"), {
    filter: noFilter,
    open: undefined,
  });
  assert.equal(writeView({ filter: noFilter, open: "0-s1" }), "open=0-s1");
  assert.equal(
    traceFilterOf({ method: "GET", path: '/"' }),
    'request.method == "GET" && request.path == "/\\""',
  );
});

Deno.test("rows of the traffic are sorted by a figure, all others last", () => {
  const row = (name: string | null, requests: number, costUsd: number) => ({
    name,
    rates: [],
    requests,
    clientErrors: 0,
    serverErrors: 0,
    p50: null,
    p95: null,
    p99: null,
    firstToken50: null,
    firstToken95: null,
    inputTokens: 0,
    outputTokens: 0,
    costUsd,
  });
  const rows = [row("a", 3, 0.1), row(null, 9, 9), row("b", 2, 0.5)];
  const namesBy = (sorting: trafficView.Sorting) =>
    trafficView.sortRows(rows, sorting).map(({ name }) => name);

  assert.deepEqual(namesBy("requests"), ["a", "b", null]);
  assert.deepEqual(namesBy("cost"), ["b", "a", null]);
  assert.deepEqual(namesBy("p95"), ["a", "b", null]);
});
