import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { formatDiagnostics } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { loadConfig, loadInSteps } from "../../../src/config/load.ts";
import { readDocuments } from "../../../src/config/yaml/config_document.ts";
import { parseYaml, printYaml } from "../../../src/config/yaml/yaml.ts";
import { processorTime } from "../../harness/time/processor_time.ts";

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
  return processorTime(() => {
    const { diagnostics } = loadConfig([source], {}, schemasOf());
    formatDiagnostics(diagnostics, [source]);
  });
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

    const small = Math.min(...[1, 2, 3].map(() => timeToLoad(textOf(250))));
    // Eight times the size; a quadratic algorithm takes 64 times as long.
    const limit = 24 * small + 600;
    // Garbage collection may delay an attempt.
    const text = textOf(2_000);
    const isLinear = [1, 2, 3].some(() => timeToLoad(text) < limit);

    assert(isLinear, `not within ${limit} ms`);
  });
}

/** Runs stepwise work; returns its result and how many steps it took. */
function countSteps<T>(steps: Iterator<void, T>) {
  let count = 0;
  for (;;) {
    const { done, value } = steps.next();
    if (done) return { count, value };
    count++;
  }
}

for (
  const [form, print] of [
    ["JSON", JSON.stringify],
    ["YAML", printYaml],
  ] as const
) {
  Deno.test(`one ${form} document with many routes loads in small steps`, () => {
    const text = print(largeConfig(200, (route) => `service-${route}`));
    const source = { name: "gateway.yaml", text };

    const parsed = countSteps(parseYaml(source));
    const read = countSteps(readDocuments(source, {}));
    const { count, value } = countSteps(loadInSteps([source], {}, schemasOf()));

    // 16 of 200 backends or 200 routes are composed, converted, read or normalized in a step; one is validated or expanded.
    const steps = 400 / 16;
    assert.ok(parsed.count > 2 * steps, `${parsed.count} steps`);
    assert.ok(read.count > parsed.count + steps, `${read.count} steps`);
    assert.ok(count > read.count + steps + 400 + 600, `${count} steps`);
    assert.deepEqual(
      value.resources,
      loadConfig([source], {}, schemasOf()).resources,
    );
  });
}
