import assert from "node:assert/strict";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig, loadInSteps } from "../../../src/config/load.ts";
import { processorTime } from "../../harness/processor_time.ts";

/** A configuration with many routes; all of them name `backends`, of which there are as many. */
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

/** Milliseconds of processor time for reading a text and showing what is wrong with it. */
function timeToLoad(text: string): number {
  const source = { name: "gateway.json", text };
  return Math.min(...[1, 2, 3].map(() =>
    processorTime(() => {
      const { diagnostics } = loadConfig([source], {});
      formatDiagnostics(diagnostics, [source]);
    })
  ));
}

for (
  const [name, indent, backendOf] of [
    ["on one line", 0, (route: number) => `service-${route}`],
    ["on many lines", 1, (route: number) => `service-${route}`],
    ["whose references are all wrong", 1, (route: number) => `server-${route}`],
    [
      "on one line whose references are all wrong",
      0,
      (route: number) => `secret-${route}`,
    ],
  ] as const
) {
  Deno.test(`a configuration ${name} loads in proportion to its size`, () => {
    const textOf = (count: number) =>
      JSON.stringify(largeConfig(count, backendOf), null, indent);

    const small = timeToLoad(textOf(250));
    const large = timeToLoad(textOf(2_000));

    // Eight times as much; what compares each with each takes 64 times as long.
    assert.ok(large < 24 * small + 600, `${large} ms after ${small} ms`);
  });
}

Deno.test("loadInSteps takes many steps to what loadConfig does at once", () => {
  const text = JSON.stringify(largeConfig(200, (route) => `service-${route}`));
  const sources = [{ name: "gateway.json", text }];
  const steps = loadInSteps(sources, {});

  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;

  assert.ok(count > 200, `${count} steps`);
  assert.deepEqual(step.value.resources, loadConfig(sources, {}).resources);
});
