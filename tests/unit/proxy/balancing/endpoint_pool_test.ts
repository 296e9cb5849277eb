import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { Upstream } from "../../../../src/http/client/upstream.ts";
import type { BalancedEndpoint } from "../../../../src/proxy/balancing/balanced_endpoint.ts";
import { EndpointPool } from "../../../../src/proxy/balancing/endpoint_pool.ts";
import {
  type Balancing,
  defaultBalancing,
  type Endpoint,
} from "../../../../src/snapshot/backend.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

/** An upstream with a load that the test sets. */
class IdleUpstream implements Upstream {
  load = 0;
  isRetired = false;
  readonly stats = { idle: 0, active: 0, pending: 0, connects: 0, reuses: 0 };
  readonly bounds = { connections: 1, pending: 1 };

  send(): ReturnType<Upstream["send"]> {
    return Promise.reject(new Error("Not used"));
  }

  retire(): void {
    this.isRetired = true;
  }

  close(): void {}
}

function createPool(
  hosts: readonly string[],
  balancing: Partial<Balancing> = {},
) {
  const clock = new FakeClock();
  const upstreams = new Map<string, IdleUpstream>();
  let seed = 0.5;
  const pool = new EndpointPool({
    name: '"test"',
    balancing: { ...defaultBalancing, ...balancing },
    connect: ({ host }) => {
      const upstream = new IdleUpstream();
      upstreams.set(host, upstream);
      return upstream;
    },
    clock,
    random: () => seed = (seed * 9301 + 0.49297) % 1,
    log: new RecordedLog(),
  });
  pool.update(hosts.map(at));
  return { pool, clock, upstreams };
}

function at(host: string): Endpoint {
  return { host, port: 80 };
}

function endpointAt(pool: EndpointPool, host: string): BalancedEndpoint {
  const found = [...pool.endpoints].find(({ label }) => label === `${host}:80`);
  assert(found);
  return found;
}

/** Number of times that each host is chosen. */
function countChoices(
  pool: EndpointPool,
  times: number,
  key?: (turn: number) => number,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < times; turn++) {
    const { label } = pool.choose([], key?.(turn));
    const host = label.slice(0, -":80".length);
    counts[host] = (counts[host] ?? 0) + 1;
  }
  return counts;
}

const refused = new GatewayError("upstream_connect_failed", "upstream", "no");
const hung = new GatewayError("upstream_timeout", "upstream", "late");

Deno.test("RoundRobin and Random spread the requests evenly", () => {
  for (const policy of ["RoundRobin", "Random"] as const) {
    const { pool } = createPool(["a", "b", "c"], { policy });

    const counts = countChoices(pool, 3000);

    for (const host of ["a", "b", "c"]) {
      const count = counts[host] ?? 0;
      assert(count > 900 && count < 1100, `${policy} ${host}: ${count}`);
    }
  }
});

Deno.test("LeastRequest avoids an endpoint with more requests than the others", () => {
  const { pool, upstreams } = createPool(["a", "b", "c"]);
  const busy = upstreams.get("b");
  assert(busy);
  busy.load = 10;

  assert.equal(countChoices(pool, 100)["b"], undefined);
});

Deno.test("ConsistentHash keeps a key at its endpoint, and moves only the keys of one that goes", () => {
  const hosts = ["a", "b", "c", "d"];
  const { pool } = createPool(hosts, { policy: "ConsistentHash" });
  const keys = Array.from({ length: 1000 }, (_, index) => index * 7919);
  const before = keys.map((key) => pool.choose([], key).label);

  pool.update(hosts.slice(0, 3).map(at));
  const after = keys.map((key) => pool.choose([], key).label);

  const moved = keys.filter((_, i) => before[i] !== after[i]);
  assert.deepEqual(
    moved,
    keys.filter((_, i) => before[i] === "d:80"),
  );
  assert(moved.length > 150 && moved.length < 350, String(moved.length));
});

Deno.test("an attempt goes to an endpoint that was not tried", () => {
  const { pool } = createPool(["a", "b"]);
  const first = pool.choose([], undefined);

  for (let i = 0; i < 20; i++) {
    assert.notEqual(pool.choose([first], undefined), first);
  }
});

Deno.test("an endpoint without connections is ejected, and one request tries it again", () => {
  const { pool, clock } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");

  health.failed(refused);
  assert.equal(health.state, "healthy");
  health.failed(refused);
  assert.deepEqual([health.state, countChoices(pool, 20)], [
    "ejected",
    { b: 20 },
  ]);

  clock.advance(10_000);
  assert.deepEqual(countChoices(pool, 20), { a: 1, b: 19 });
  assert.equal(health.state, "returning");
  health.responded(200, 1);
  assert.equal(health.state, "healthy");
});

Deno.test("the last endpoint is not ejected; it is failing from the first failure until they are rare", () => {
  const { pool } = createPool(["a"]);
  const { health } = endpointAt(pool, "a");
  assert.deepEqual([health.failureShare, health.isFailing], [undefined, false]);

  health.failed(refused);
  assert.deepEqual([health.failureShare, health.isFailing], [1, true]);
  health.failed(refused);
  assert.deepEqual([health.state, health.isFailing], ["healthy", true]);
  let successes = 0;
  for (; health.isFailing; successes++) health.responded(200, 1);
  assert.equal(successes, 22);
  for (let index = 0; index < 100; index++) health.responded(200, 1);
  health.responded(500, 1);
  assert.deepEqual([health.failureShare?.toFixed(2), health.isFailing], [
    "0.10",
    true,
  ]);
});

Deno.test("failures before an ejection do not count once the endpoint is back", () => {
  const { pool, clock } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");
  health.failed(refused);
  health.failed(refused);
  assert.deepEqual([health.state, health.failureShare], ["ejected", 1]);
  clock.advance(10_000);
  countChoices(pool, 20);

  health.responded(200, 1);

  assert.deepEqual([health.state, health.failureShare], ["healthy", 0]);
});

Deno.test("each further ejection lasts twice as long", () => {
  const { pool, clock } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");
  health.failed(refused);
  health.failed(refused);
  clock.advance(10_000);
  pool.choose([], undefined);

  health.failed(refused);

  clock.advance(19_999);
  assert.deepEqual(countChoices(pool, 10), { b: 10 });
  clock.advance(1);
  assert.deepEqual(countChoices(pool, 10), { a: 1, b: 9 });
});

Deno.test("a request that tries an endpoint and never ends does not keep it out", () => {
  const { pool, clock } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");
  health.failed(refused);
  health.failed(refused);
  clock.advance(10_000);
  assert.deepEqual(countChoices(pool, 10), { a: 1, b: 9 });

  clock.advance(10_000);

  assert.deepEqual(countChoices(pool, 10), { a: 1, b: 9 });
});

Deno.test("a client that leaves says nothing about the endpoint that it tried", () => {
  const { pool, clock } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");
  health.failed(refused);
  health.failed(refused);
  clock.advance(10_000);
  pool.choose([], undefined);

  health.failed(new GatewayError("client_closed", "downstream", "left"));

  assert.deepEqual(countChoices(pool, 10), { a: 1, b: 9 });
});

Deno.test("the last endpoint is never ejected", () => {
  const { pool } = createPool(["a", "b", "c"]);

  for (const host of ["a", "b", "c"]) {
    for (let i = 0; i < 5; i++) endpointAt(pool, host).health.failed(refused);
  }

  assert.deepEqual(countChoices(pool, 10), { c: 10 });
});

Deno.test("responses eject at most half of the endpoints, for clients may provoke them", () => {
  const { pool } = createPool(["a", "b", "c", "d"]);

  for (const host of ["a", "b", "c", "d"]) {
    for (let i = 0; i < 5; i++) {
      const { health } = endpointAt(pool, host);
      if (i % 2 === 0) health.responded(503, 1);
      else health.failed(hung);
    }
  }

  assert.deepEqual(Object.keys(countChoices(pool, 50)).sort(), ["c", "d"]);
});

Deno.test("a good response ends a row of errors", () => {
  const { pool } = createPool(["a", "b"]);
  const { health } = endpointAt(pool, "a");

  for (let i = 0; i < 20; i++) {
    health.responded(i % 5 === 4 ? 200 : 500, 1);
  }

  assert.equal(health.state, "healthy");
});

Deno.test("a slow endpoint is ejected where a limit of the latency is set", () => {
  const ejection = { ...defaultBalancing.ejection, latencyMs: 100 };
  const { pool } = createPool(["a", "b"], { ejection });
  const { health } = endpointAt(pool, "a");

  for (let i = 0; i < 10; i++) health.responded(200, 150);

  assert.deepEqual([health.state, health.ejections.latency], ["ejected", 1]);
});

Deno.test("a new endpoint gets a growing share with slow start", () => {
  const { pool, clock } = createPool(["a", "b"], {
    policy: "RoundRobin",
    slowStartMs: 10_000,
  });

  pool.update(["a", "b", "c"].map(at));
  const early = countChoices(pool, 900)["c"] ?? 0;
  clock.advance(10_000);
  const late = countChoices(pool, 900)["c"] ?? 0;

  assert(early < 150, String(early));
  assert.equal(late, 300);
});

Deno.test("an update keeps known endpoints and retires those that are gone", () => {
  const { pool, upstreams } = createPool(["a", "b"]);
  const kept = endpointAt(pool, "a");

  pool.update(["a", "c"].map(at));

  assert.equal(endpointAt(pool, "a"), kept);
  assert.deepEqual(
    ["a", "b", "c"].map((host) => upstreams.get(host)?.isRetired),
    [false, true, false],
  );
});

Deno.test("reserve endpoints get requests when no preferred one is healthy", () => {
  const { pool } = createPool([]);
  pool.update(["a", "b"].map(at), 1);
  assert.deepEqual(countChoices(pool, 10), { a: 10 });

  const { health } = endpointAt(pool, "a");
  health.failed(refused);
  health.failed(refused);

  assert.deepEqual(countChoices(pool, 10), { b: 10 });
});

Deno.test("a pool without endpoints says so", () => {
  const { pool } = createPool([]);

  assert.throws(() => pool.choose([], undefined), {
    code: "no_endpoints",
    message: 'No endpoint of "test" is ready',
  });
});
