import assert from "node:assert/strict";
import type { RateLimit } from "../../../../src/policy/rate_limit/rate_limit_schema.ts";
import type { PolicyContext } from "../../../../src/policy/contract/policy.ts";
import type {
  GlobalLimiter,
  LimiterDecision,
} from "../../../../src/ratelimit/limiter/global_limiter.ts";
import { asUser, local, Process, route } from "../rate_limits.ts";

/** Reports of a request to a trace: expressions with their results, and verdicts. */
async function traceOf(
  config: RateLimit,
  { on = asUser("anna"), limiter }: {
    readonly on?: PolicyContext;
    readonly limiter?: GlobalLimiter;
  } = {},
) {
  const process = new Process();
  process.limiter = limiter;
  const expressions: unknown[] = [];
  const results: unknown[] = [];
  const trace = {
    evaluated: (text: string, result: unknown) =>
      expressions.push([text, result]),
    report: (message: unknown) => results.push(message),
  };
  const policy = process.policy([route, config]);
  await policy.onRequest?.({ ...on, trace } as never);
  return { expressions, results, logged: process.log.lines };
}

Deno.test("a trace shows whose budget a request counts against, and which limits apply", async () => {
  const { expressions } = await traceOf(local(
    { requests: 1, key: "jwt.sub", when: "request.method == 'GET'" },
    { requests: 1, key: "request.path", when: "false" },
  ));

  assert.deepEqual(expressions, [
    ["request.method == 'GET'", true],
    ["jwt.sub", "anna"],
    ["false", false],
  ]);
});

for (
  const key of [
    "request.headers['authorization'].split(' ')[1]",
    "request.headers['x-secret-door']",
    "request.headers[request.method]",
    "request.pathAndQuery",
    "request.uri",
  ]
) {
  Deno.test(`a trace does not show the key ${key}, which may be a part of a secret`, async () => {
    const on = asUser("anna");
    on.request.headers.set("authorization", "Bearer secret");
    on.request.headers.set("x-secret-door", "secret");
    on.request.headers.set("get", "secret");

    const { expressions } = await traceOf(local({ requests: 1, key }), { on });

    assert.deepEqual(expressions, [[key, "<redacted>"]]);
  });
}

Deno.test("a trace shows the value of a header that is no secret by its name", async () => {
  const key = "request.headers['x-team']";
  const on = asUser("anna");
  on.request.headers.set("x-team", "blue");

  const { expressions } = await traceOf(local({ requests: 1, key }), { on });

  assert.deepEqual(expressions, [[key, "blue"]]);
});

Deno.test("trace and log tell why a condition has no value, the log as a warning once", async () => {
  const when = "request.headers['x-tier'] == 'a'";
  const config = local({ requests: 9, when });
  const { expressions, logged } = await traceOf(config);
  const process = new Process();
  const policy = process.policy([route, config]);
  await policy.onRequest?.(asUser("anna"));
  await policy.onRequest?.(asUser("otto"));

  const error = "field not found: x-tier";
  assert.deepEqual(expressions, [[when, { error }]]);
  const line = "A limit applies because its condition has no value " +
    JSON.stringify({ "request.id": "test", expression: when, error });
  assert.deepEqual(logged, [`warn ${line}`]);
  assert.deepEqual(process.log.lines, [`warn ${line}`, `debug ${line}`]);
});

Deno.test("a request without a key, or with one that is none, is told to trace and log without a warning", async () => {
  const keys = ["jwt.team", "[jwt.sub]"];
  const { expressions, logged } = await traceOf(
    local(...keys.map((key) => ({ requests: 1, key }))),
  );

  const errors = [
    "field not found: team",
    "expected a string, a number or a boolean",
  ];
  assert.deepEqual(
    expressions,
    keys.map((key, index) => [key, { error: errors[index] }]),
  );
  const levels = logged.map((line) => line.slice(0, 6));
  assert.deepEqual(levels, ["debug ", "debug "]);
});

/** A limiter that always says the same. */
function limiterThatSays(decision: LimiterDecision): GlobalLimiter {
  return { admit: () => decision, debit: () => {}, refund: () => {} };
}

function global(failureMode: "Open" | "Closed", value: string): RateLimit {
  const entries = [{ key: "user", value }];
  return {
    global: {
      domain: "d",
      store: "KV",
      failureMode,
      descriptors: [{ requests: 9, unit: "Minutes", entries }],
    },
  };
}

Deno.test("trace and log tell why an entry of a global limit has no value, also where it is counted as unknown", async () => {
  const limiter = limiterThatSays({ verdict: "admitted", readings: [] });
  const { expressions, logged } = await traceOf(
    global("Open", "jwt.team"),
    { limiter },
  );

  const error = "field not found: team";
  assert.deepEqual(expressions, [["jwt.team", { error }]]);
  assert.match(
    logged[0] ?? "",
    /^warn A global limit has no value for an entr/,
  );
});

Deno.test("a trace reports that a request was let pass because the limiter failed", async () => {
  const error = new Error("down");
  const limiter = limiterThatSays({ verdict: "failed", error });
  const { results } = await traceOf(
    global("Open", "jwt.sub"),
    { limiter },
  );

  assert.deepEqual(results, [{
    type: "rateLimit",
    kind: "global",
    entries: [],
    result: "allow",
    error: "The limiter failed: down",
  }]);
});
