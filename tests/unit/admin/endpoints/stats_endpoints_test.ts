import assert from "node:assert/strict";
import { createRouter } from "../../../../admin/http/router.ts";
import { statsEndpoints } from "../../../../admin/endpoints/runtime/stats_endpoints.ts";
import type { Readiness } from "../../../../src/gateway/gateway_status.ts";
import { createTestLog, FakeTarget } from "../fake_target.ts";

async function ask(target: FakeTarget, path: string, method = "GET") {
  const route = createRouter(statsEndpoints(target), createTestLog().log);
  const response = await route(
    new Request(`http://pod.example.com${path}`, { method }),
  );
  return {
    status: response.status,
    body: await response.text(),
    headers: response.headers,
  };
}

for (const path of ["/metrics", "/stats/prometheus"]) {
  Deno.test(`${path} returns the metrics of the data plane`, async () => {
    const { status, body, headers } = await ask(new FakeTarget(), path);

    assert.equal(status, 200);
    assert.equal(body, "# HELP up Always 1\n# TYPE up gauge\nup 1\n");
    assert.equal(
      headers.get("content-type"),
      "text/plain; version=0.0.4; charset=utf-8",
    );
  });
}

const readiness: readonly { ready: Readiness; status: number }[] = [
  { ready: "starting", status: 503 },
  { ready: "ready", status: 200 },
  { ready: "draining", status: 503 },
];

for (const { ready, status } of readiness) {
  Deno.test(`/healthz/ready returns ${status} when ${ready}`, async () => {
    const target = new FakeTarget();
    target.ready = ready;

    const answer = await ask(target, "/healthz/ready");

    assert.deepEqual([answer.status, answer.body], [status, `${ready}\n`]);
  });
}

Deno.test("/healthz/live returns 200 while draining", async () => {
  const target = new FakeTarget();
  target.ready = "draining";

  const { status, body } = await ask(target, "/healthz/live");

  assert.deepEqual([status, body], [200, "ok\n"]);
});

Deno.test("the stats server has no endpoint that changes the gateway", async () => {
  const target = new FakeTarget();

  const answers = [
    await ask(target, "/quitquitquit", "POST"),
    await ask(target, "/metrics", "POST"),
  ];

  assert.deepEqual(answers.map(({ status }) => status), [404, 405]);
  assert.equal(target.shutdowns, 0);
});

Deno.test("the metrics are in OpenMetrics for clients that accept that", async () => {
  const target = new FakeTarget();
  const route = createRouter(statsEndpoints(target), createTestLog().log);

  const response = await route(
    new Request("http://pod.example.com/metrics", {
      headers: { accept: "application/openmetrics-text;version=1.0.0" },
    }),
  );

  assert.match(
    response.headers.get("content-type") ?? "",
    /^application\/openmetrics-text; version=1\.0\.0/,
  );
  assert.equal(await response.text(), "# EOF\n");
});
