import assert from "node:assert/strict";
import type { GlobalRateLimit } from "../../../../src/policy/rate_limit/rate_limit_schema.ts";
import { checkRateLimit } from "../../../../src/policy/rate_limit/rate_limit_checks.ts";

const options = { readFile: () => "", hide: (text: string) => text };

type Descriptor = GlobalRateLimit["descriptors"][number];

function problemsOf(
  store: GlobalRateLimit["store"],
  ...descriptors: readonly Partial<Descriptor>[]
): readonly string[] {
  const entries = [{ key: "user", value: "jwt.sub" }];
  const problems = checkRateLimit({
    global: {
      domain: "fleet",
      store,
      failureMode: "Closed",
      descriptors: descriptors.map((each) => ({
        requests: 1,
        unit: "Minutes" as const,
        entries,
        ...each,
      })),
    },
  }, options);
  return problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const service = { service: { host: "limits.example:8081" } };

Deno.test("checkRateLimit names what a rate limit service cannot do, which KV can", () => {
  const descriptors = [{ burst: 5 }, { unit: "Hours" as const }, {}];

  assert.deepEqual(problemsOf(service, ...descriptors), [
    "global.descriptors.0: Cannot use this descriptor: a rate limit service has no burst",
    "global.descriptors.2: Cannot use this descriptor: a rate limit service cannot distinguish descriptor 2 from descriptor 0: use another unit or other keys",
  ]);
  assert.deepEqual(problemsOf("KV", ...descriptors), []);
});

Deno.test("checkRateLimit points at what is wrong with the entries of a descriptor", () => {
  const entries = [
    { key: "user", value: "jwt.sub" },
    { key: "team", value: "backend.name" },
  ];
  assert.deepEqual(problemsOf("KV", {}, { entries, when: "1 +" }), [
    "global.descriptors.1.when: Cannot use the expression: unexpected + at column 3",
    'global.descriptors.1.entries.1.value: Cannot use "backend" in a rule: rules run before a backend is chosen',
  ]);
});

Deno.test("checkRateLimit rejects expressions that can have no value a limit can use", () => {
  const limit = { requests: 1, unit: "Minutes", overshoot: "Forgive" } as const;
  const problems = checkRateLimit({
    local: [
      { ...limit, when: "request.headers['x-tier']", key: "request.headers" },
      { ...limit, when: "jwt.trial", key: "jwt.teams" },
      { ...limit, when: "false", key: "size(request.path)" },
    ],
  }, options);

  assert.deepEqual(
    problems.map(({ path, message }) => `${path.join(".")}: ${message}`),
    [
      "local.0.key: Cannot use the expression: expected a string, a number or a boolean, got a map",
      "local.0.when: Cannot use the expression: expected a boolean, got a string",
    ],
  );
  const entries = [{ key: "user", value: "[jwt.sub]" }];
  assert.deepEqual(problemsOf("KV", { entries }), [
    "global.descriptors.0.entries.0.value: Cannot use the expression: expected a string, a number or a boolean, got a list",
  ]);
});
