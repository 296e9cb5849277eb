import assert from "node:assert/strict";
import { emptyResourceSet } from "../../../src/api/resources/resource_set.ts";
import { compileInSlices } from "../../../src/compile/compile.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import {
  backend,
  compileAll,
  gateway,
  route,
  routeFor,
  to,
} from "./resources.ts";

/** A clock on which every reading comes 10 ms after the one before, so that every step fills a slice. */
class SlowClock extends FakeClock {
  override monotonic(): number {
    this.advance(10);
    return super.monotonic();
  }
}

const resources = {
  ...emptyResourceSet,
  gateways: [gateway("gw")],
  gatewayBackends: Array(30).keys().map((number) => backend(`b${number}`))
    .toArray(),
  httpRoutes: Array(30).keys().map((number) =>
    route(`r${number}`, {
      rules: [{
        matches: [{ path: { value: `/${number}` } }],
        backendRefs: [to(`b${number}`)],
      }],
    })
  ).toArray(),
};

Deno.test("other work goes on between the steps of compileInSlices, at least five for each route", async () => {
  let turns = 0;
  const compiling = compileInSlices(resources, {
    policies: builtInPolicies,
    readFile: () => "",
    clock: new SlowClock(),
  });
  let isCompiled = false;
  const done = compiling.finally(() => isCompiled = true);
  while (!isCompiled) {
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve));
    turns++;
  }

  // Filters are checked, rules prepared, attached and merged, and matches indexed.
  assert.ok(turns > 5 * 30, `${turns} turns`);
  const compiled = await done;
  assert.deepEqual(
    routeFor(compiled, { target: "/7" })?.key,
    routeFor(compileAll(resources), { target: "/7" })?.key,
  );
});
