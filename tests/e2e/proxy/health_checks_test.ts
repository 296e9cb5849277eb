import assert from "node:assert/strict";
import { CheckedUpstream } from "../../harness/servers/checked_upstream.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { startReloadableGateway } from "../../harness/gateway/reloadable_gateway.ts";

const quick = {
  path: "/healthz",
  interval: "5ms",
  unhealthyThreshold: 1,
  healthyThreshold: 1,
};

function fleet(
  upstreams: readonly { readonly port: number }[],
  healthCheck: Readonly<Record<string, unknown>> | null = quick,
) {
  const endpoints = upstreams.map(({ port }) => ({ host: "127.0.0.1", port }));
  return {
    config: { workers: 1 },
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{
      name: "fleet",
      endpoints,
      loadBalancing: { policy: "RoundRobin" },
      ...(healthCheck && { healthCheck }),
    }],
  };
}

/** Sends ten requests; returns the responses that came, in alphabetical order. */
async function responses(origin: string): Promise<string[]> {
  const seen = new Set<string>();
  for (let i = 0; i < 10; i++) {
    seen.add(await (await fetch(origin)).text());
  }
  return [...seen].sort();
}

async function endpointsOf({ gateway }: Pick<TestGateway, "gateway">) {
  const { upstreams } = await gateway.dataPlane.call("tasks", 0);
  return upstreams.map(({ health, check, requests }) => ({
    health,
    requests,
    failure: check?.failure,
  }));
}

Deno.test("an endpoint that fails its checks gets no requests until it passes again", async () => {
  await using well = new CheckedUpstream("well");
  await using sick = new CheckedUpstream("sick");
  sick.health = 503;
  await using gateway = await startTestGateway(fleet([well, sick]));
  await Promise.all([well.nextChecks(2), sick.nextChecks(2)]);

  assert.deepEqual(await responses(gateway.origin), ["well"]);
  assert.deepEqual(await endpointsOf(gateway), [
    { health: "healthy", requests: 10, failure: null },
    { health: "unhealthy", requests: 0, failure: "The status is 503" },
  ]);
  const warning = gateway.log.find((line) => line.includes("fails its checks"));
  assert.match(warning ?? "", /backend=fleet .*reason="The status is 503"/);
  const { dataPlane } = gateway.gateway;
  const metrics = await dataPlane.call("collectMetrics");
  assert.match(
    metrics,
    /gateway_backend_endpoints{backend="fleet",state="unhealthy"} 1/,
  );
  assert.match(
    metrics,
    /gateway_backend_health_checks_total{backend="fleet",result="failed"} [1-9]/,
  );

  sick.health = 200;
  await sick.nextChecks(2);
  assert.deepEqual(await responses(gateway.origin), ["sick", "well"]);
});

Deno.test("if all endpoints fail their checks, all get requests", async () => {
  await using one = new CheckedUpstream("one");
  await using two = new CheckedUpstream("two");
  one.health = two.health = 500;
  await using gateway = await startTestGateway(fleet([one, two]));
  await Promise.all([one.nextChecks(2), two.nextChecks(2)]);

  assert.deepEqual(await responses(gateway.origin), ["one", "two"]);
});

Deno.test("a check has the configured host and statuses, by default that of the backend", async () => {
  await using upstream = new CheckedUpstream("well");
  upstream.health = 404;
  const settings = { host: "tools.example", expectedStatuses: [404] };
  await using gateway = await startTestGateway(
    fleet([upstream], { ...quick, ...settings }),
  );
  await upstream.nextChecks(2);
  assert.match(upstream.checks[0] ?? "", /^Host: tools\.example\r$/mi);
  const [endpoint] = await endpointsOf(gateway);
  assert.equal(endpoint?.health, "healthy");

  await using other = await startTestGateway(fleet([upstream]));
  assert(other);
  // The first gateway checks all the time, too.
  const authority = `Host: 127.0.0.1:${upstream.port}\r\n`;
  while (!upstream.checks.some((check) => check.includes(authority))) {
    await upstream.nextChecks(1);
  }
});

Deno.test("an endpoint that is added gets requests once it passes its first check", async () => {
  await using well = new CheckedUpstream("well");
  await using added = new CheckedUpstream("added");
  added.health = 503;
  await using gateway = await startReloadableGateway([fleet([well])]);
  await gateway.reload([fleet([well, added])]);
  await added.nextChecks(2);
  assert.deepEqual(await responses(gateway.origin), ["well"]);

  added.health = 200;
  await added.nextChecks(2);

  assert.deepEqual(await responses(gateway.origin), ["added", "well"]);
});

Deno.test("an endpoint that hangs or refuses connections fails its checks", async () => {
  const clock = new FakeClock();
  const asked = Promise.withResolvers<void>();
  await using hung = new RawUpstream(async (connection) => {
    await connection.request();
    asked.resolve();
    await connection.closedByPeer();
  });
  await using gateway = await startTestGateway(
    fleet([hung, { port: freePort() }], { path: "/", timeout: "3s" }),
    {},
    [],
    { clock },
  );
  clock.advance(0);
  await asked.promise;

  clock.advance(3000);

  let failures: unknown[] = [];
  while (failures.includes(undefined) || failures.length === 0) {
    await new Promise((resolve) => setTimeout(resolve));
    failures = (await endpointsOf(gateway)).map(({ failure }) => failure);
  }
  assert.match(String(failures[0]), /^No response from .* within 3000 ms$/);
  assert.match(String(failures[1]), /^Cannot connect to /);
});

Deno.test("checks end with a reload that removes them, and with the gateway", async () => {
  const clock = new FakeClock();
  await using upstream = new CheckedUpstream("well");
  await using gateway = await startReloadableGateway(
    [fleet([upstream], null)],
    { clock },
  );
  await gateway.reload([fleet([upstream], { path: "/healthz" })]);
  clock.advance(0);
  await upstream.nextChecks(1);

  await gateway.reload([fleet([upstream], null)]);

  clock.advance(60_000);
  assert.deepEqual(await responses(gateway.origin), ["well"]);
  assert.equal(upstream.checks.length, 1);
});

Deno.test("a backend without checks is not asked", async () => {
  await using upstream = new CheckedUpstream("well");
  await using gateway = await startTestGateway(fleet([upstream], null));

  assert.deepEqual(await responses(gateway.origin), ["well"]);
  assert.deepEqual(upstream.checks, []);
});

Deno.test("two workers make each check once, and both follow it", async () => {
  await using well = new CheckedUpstream("well");
  await using sick = new CheckedUpstream("sick");
  sick.health = 503;
  await using gateway = await startTestGateway({
    ...fleet([well, sick], { path: "/healthz", interval: "1h" }),
    config: { workers: 2 },
  });

  const names = new Set(["gateway_backend_endpoints"]);
  let metrics = "";
  while (!metrics.includes('state="unhealthy"} 2')) {
    metrics = await gateway.gateway.dataPlane.call("collectMetrics", names);
  }

  assert.deepEqual([well.checks.length, sick.checks.length], [1, 1]);
});
