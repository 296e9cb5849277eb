import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate.ts";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig, loadInSteps } from "../../../src/config/load.ts";
import { processorTime } from "../../harness/processor_time.ts";

/** Creates a configuration with `count` routes and `count` backends. */
function largeConfig(count: number, backendOf: (route: number) => string) {
  const numbers = Array.from({ length: count }, (_, number) => number);
  return {
    gateways: { default: { port: 3000 } },
    backends: numbers.map((number) => ({
      name: `service-${number}`,
      static: { host: "10.0.0.1", port: 8080 },
    })),
    routes: numbers.map((number) => ({
      name: `route-${number}`,
      hostnames: [`h${number % 50}.example.com`],
      matches: [{ path: { value: `/api/${number}` } }],
      backends: [{ backend: backendOf(number) }],
      policies: { timeouts: { request: "30s" } },
    })),
  };
}

/** Returns the milliseconds of CPU time to load a text and format its diagnostics. */
function timeToLoad(text: string): number {
  const source = { name: "gateway.json", text };
  return Math.min(...[1, 2, 3].map(() =>
    processorTime(() => {
      const { diagnostics } = loadConfig([source], {}, schemasOf());
      formatDiagnostics(diagnostics, [source]);
    })
  ));
}

for (
  const [name, indent, backendOf] of [
    ["on one line", 0, (route: number) => `service-${route}`],
    ["on many lines", 1, (route: number) => `service-${route}`],
    [
      "with unresolved references only",
      1,
      (route: number) => `server-${route}`,
    ],
    [
      "on one line with unresolved references only",
      0,
      (route: number) => `secret-${route}`,
    ],
  ] as const
) {
  Deno.test(`a configuration ${name} loads in time proportional to its size`, () => {
    const textOf = (count: number) =>
      JSON.stringify(largeConfig(count, backendOf), null, indent);

    const small = timeToLoad(textOf(250));
    const large = timeToLoad(textOf(2_000));

    // Eight times the size; a quadratic algorithm takes 64 times as long.
    assert.ok(large < 24 * small + 600, `${large} ms after ${small} ms`);
  });
}

Deno.test("loadInSteps loads like loadConfig, in many steps", () => {
  const text = JSON.stringify(largeConfig(200, (route) => `service-${route}`));
  const sources = [{ name: "gateway.json", text }];
  const steps = loadInSteps(sources, {}, schemasOf());

  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;

  assert.ok(count > 200, `${count} steps`);
  assert.deepEqual(
    step.value.resources,
    loadConfig(sources, {}, schemasOf()).resources,
  );
});
