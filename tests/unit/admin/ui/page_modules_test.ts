import assert from "node:assert/strict";
import { metricsText } from "../../../harness/telemetry/metrics_text.ts";
import {
  buildTree,
  hottest,
  totalOf,
} from "../../../../admin/ui/page/pages/profiles/flame_tree.ts";
import {
  createRate,
  parseMetrics,
  sumOf,
} from "../../../../admin/ui/page/server/metrics_text.ts";
import {
  readModel,
  relatedTo,
} from "../../../../admin/ui/page/pages/topology/route_model.ts";
import {
  addEvent,
  differences,
  type TracedRequest,
  type TraceEvent,
} from "../../../../admin/ui/page/pages/traces/trace_events.ts";
import { describeArrival } from "../../../../src/telemetry/trace/trace_state.ts";
import { MetricRegistry } from "../../../../src/telemetry/metrics/metrics.ts";

Deno.test("parseMetrics parses the output of the registry, including labels with quotes and line breaks", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter("a_total", "All", ["name", "kind"]);
  counter.labels('q"\\\n,}', "x").inc(3);
  counter.labels("other", "x").inc(4);

  const samples = parseMetrics(metricsText(registry));

  assert.deepEqual(samples[0], {
    name: "a_total",
    labels: { name: 'q"\\\n,}', kind: "x" },
    value: 3,
  });
  assert.equal(sumOf(samples, "a_total"), 7);
  assert.equal(
    sumOf(samples, "a_total", ({ name }) => name === "other"),
    4,
  );
});

Deno.test("a rate is the increase since the previous call, never negative", () => {
  const rate = createRate();

  assert.deepEqual(
    [rate(10, 1), rate(30, 5), rate(30, 5), rate(2, 6)],
    [undefined, 5, undefined, 0],
  );
});

function eventOf(message: TraceEvent["message"]): TraceEvent {
  return { eventStart: null, eventEnd: null, severity: "info", message };
}

function snapshotOf(team: string): TraceEvent {
  return eventOf({
    type: "requestSnapshot",
    stage: "initial request",
    requestState: {
      ...describeArrival({
        method: "GET",
        scheme: "http",
        authority: "localhost",
        path: "/a",
        query: "?b",
        version: "1.1",
        headers: { "x-team": team },
        acceptedAt: 0,
        source: { address: "127.0.0.1", port: 1 },
      }),
      env: {},
    },
  });
}

const started = eventOf({ type: "requestStarted" });

Deno.test("a trace is split into its requests", () => {
  const finished = eventOf({
    type: "requestFinished",
    status: 204,
    error: null,
  });

  const requests = [started, snapshotOf("blue"), finished, started]
    .reduce<readonly TracedRequest[]>(addEvent, []);

  assert.deepEqual(
    requests.map(({ title, events }) => [title, events.length]),
    [["GET /a?b → 204", 3], ["Request 2", 1]],
  );
});

Deno.test("differences compares a snapshot with the previous one, skipping other events", () => {
  const events = [snapshotOf("blue"), started, snapshotOf("red")];

  assert.deepEqual(differences(events, 2), [
    { path: "request.headers.x-team", before: "blue", after: "red" },
  ]);
  assert.equal(differences(events, 0), undefined);
  assert.equal(differences(events, 1), undefined);
});

Deno.test("buildTree merges calls, and recursive calls count once", () => {
  const samples = [
    { value: 2, frames: ["a", "b", "a"] },
    { value: 3, frames: ["a"] },
    { value: 1, frames: [] },
  ];

  const tree = buildTree(samples);

  assert.equal(tree.total, 6);
  assert.equal(tree.children.get("a")?.total, 5);
  assert.deepEqual(hottest(samples), [
    { name: "a", own: 5, total: 5 },
    { name: "b", own: 0, total: 2 },
  ]);
});

Deno.test("relatedTo returns all items of a route's chain and nothing else", async () => {
  const listener = {
    key: "d/g/l",
    gatewayName: "g",
    gatewayNamespace: "d",
    listenerName: "l",
    hostname: "*",
    port: 80,
    protocol: "HTTP",
    policies: [],
    routes: 2,
  };
  const route = (name: string, backend?: string) => ({
    key: `d/${name}/0`,
    name,
    listener: 0,
    hostnames: [],
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    backends: [
      backend === undefined ? { problem: "Backend not found" } : { backend },
    ],
    policies: [{ source: `HTTPRoute/d/${name}`, kinds: ["cors"] }],
  });

  const received = JSON.parse(JSON.stringify({
    listeners: [listener],
    routes: [route("a", "d/one"), route("b")],
    backends: [{ key: "d/one", name: "one", target: "h:1" }],
  }));
  const model = await readModel(received, () => Promise.resolve());

  assert.deepEqual([...relatedTo(model, "route d/a/0")].sort(), [
    "backend d/one",
    "gateway d/g",
    "listener d/g/l",
    "policy cors HTTPRoute/d/a",
    "route d/a/0",
  ]);
  assert.deepEqual(
    model.byColumn["backends"]?.map(({ title, subtitle }) => [title, subtitle]),
    [["one", "h:1"], ["not found", "Backend not found"]],
  );
});

Deno.test("totalOf counts nested matches once", () => {
  const tree = buildTree([
    { value: 5, frames: ["main", "parse", "parse (again)"] },
    { value: 3, frames: ["main", "send"] },
    { value: 2, frames: ["idle", "parse"] },
  ]);

  assert.equal(totalOf(tree, "parse"), 7);
  assert.equal(totalOf(tree, "all"), 0);
  assert.equal(totalOf(tree, "main"), 8);
});
