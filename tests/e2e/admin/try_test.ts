import assert from "node:assert/strict";
import type { TrialReport } from "../../../src/gateway/trial/trial_report.ts";
import type { Trial } from "../../../src/gateway/trials.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const usage = { prompt_tokens: 10, completion_tokens: 10 };

function configOf(upstream: LlmUpstream, workers = 1) {
  return {
    config: { workers },
    routes: [{
      name: "llm",
      backends: upstream.backends,
      policies: {
        apiKeyAuthentication: {
          keys: ["blue", "red"].map((team) => ({
            key: `key-of-${team}`,
            metadata: { team },
          })),
        },
      },
    }],
  };
}

function startUpstream() {
  return LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({ usage, model: "gpt-4o" })),
  }));
}

async function ask(
  { origin }: TestGateway,
  team: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      ...headers,
      authorization: `Bearer key-of-${team}`,
      "content-type": json,
    },
    body: '{"model":"gpt-4o","messages":[]}',
  });
  await response.body?.cancel();
  return response.status;
}

async function attempt(
  { gateway }: TestGateway,
  trial: Trial,
): Promise<TrialReport> {
  const answer = await gateway.trials.run(trial, 1000);
  assert("summary" in answer, JSON.stringify(answer));
  return answer;
}

function ruleOf(rule: string, action = "Allow"): Trial {
  const policy = { matchExpressions: [rule] };
  return { kind: "rule", authorization: { action, policy } };
}

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} worker(s), a rule is tried on the requests before`, async () => {
    await using upstream = await startUpstream();
    await using gateway = await startTestGateway(configOf(upstream, workers));
    for (let i = 0; i < 4; i++) assert.equal(await ask(gateway, "blue"), 200);
    for (let i = 0; i < 3; i++) assert.equal(await ask(gateway, "red"), 200);
    assert.equal(await ask(gateway, "nobody"), 401);

    const { requests, summary, changes, examples } = await attempt(
      gateway,
      ruleOf("apiKey.team == 'blue' && llm.requestModel == 'gpt-4o'"),
    );
    assert.equal(requests, 7);
    assert.equal(summary, "3 denied, all of team red");
    assert.deepEqual(
      changes,
      { denied: 3, admitted: 0, rerouted: 0, undecided: 0 },
    );
    assert.match(examples[0]?.because ?? "", /apiKey.team is "red"/);
    assert.equal(examples[0]?.model, "gpt-4o");
    assert.equal(await ask(gateway, "red"), 200);
  });
}

Deno.test("rules that read what is not recorded are undecided, and wrong ones are rejected", async () => {
  await using upstream = await startUpstream();
  await using gateway = await startTestGateway(configOf(upstream));
  await ask(gateway, "blue", { "x-plan": "gold", cookie: "a=secret" });

  const secret = await attempt(
    gateway,
    ruleOf("request.headers['cookie'] == 'a=other'"),
  );
  assert.equal(secret.summary, "1 undecided, of team blue");
  assert(!JSON.stringify(secret).includes("secret"));
  const plan = await attempt(
    gateway,
    ruleOf("request.headers['x-plan'] == 'gold'", "Deny"),
  );
  assert.equal(plan.summary, "1 denied, of team blue");
  const none = await attempt(gateway, {
    kind: "rule",
    authorization: { policy: { matchExpressions: ["false"] } },
    route: "other",
  });
  assert.equal(none.summary, "nothing changes");

  const { trials } = gateway.gateway;
  const wrong = await trials.run(ruleOf("apiKey.team ="), 1000);
  assert.match(JSON.stringify(wrong), /matchExpressions\[0\]/);
  const limit = { kind: "limit", rateLimit: { local: [{}] } } as const;
  assert("problem" in await trials.run(limit, 1000));
});

Deno.test("a limit is tried with the times and tokens of requests", async () => {
  await using upstream = await startUpstream();
  await using gateway = await startTestGateway(configOf(upstream));
  for (let i = 0; i < 5; i++) await ask(gateway, "blue");
  for (let i = 0; i < 2; i++) await ask(gateway, "red");
  const limited = async (limit: object) => {
    const rateLimit = { local: [limit] };
    return (await attempt(gateway, { kind: "limit", rateLimit })).summary;
  };

  assert.equal(
    await limited({ requests: 3, unit: "Days", key: "apiKey.team" }),
    "2 denied, all of team blue",
  );
  // Two requests use 40 tokens; the next ones find the budget used up.
  assert.equal(
    await limited({ tokens: 40, unit: "Days", key: "apiKey.team" }),
    "3 denied, all of team blue",
  );
  assert.equal(
    await limited({ requests: 5, unit: "Days", key: "apiKey.team" }),
    "nothing changes",
  );
});

Deno.test("a configuration is tried: its routes, rules and credentials", async () => {
  await using upstream = await startUpstream();
  const config = configOf(upstream);
  await using gateway = await startTestGateway(config);
  for (let i = 0; i < 2; i++) await ask(gateway, "blue");
  await ask(gateway, "red");
  const { port } = gateway;
  const [route] = config.routes;
  const summaryOf = async (...routes: readonly object[]) => {
    const text = JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      routes,
    });
    const files = [{ name: "gateway.yaml", text }];
    return (await attempt(gateway, { kind: "config", files })).summary;
  };

  assert.equal(await summaryOf({ ...route }), "nothing changes");
  assert.equal(
    await summaryOf({ ...route, name: "renamed" }),
    "3 rerouted, all of model gpt-4o",
  );
  assert.equal(
    await summaryOf({
      ...route,
      matches: [{ path: { type: "Exact", value: "/other" } }],
    }),
    "3 denied, all of model gpt-4o",
  );
  assert.equal(
    await summaryOf({
      ...route,
      policies: {
        ...route?.policies,
        authorization: {
          policy: { matchExpressions: ["apiKey.team != 'red'"] },
        },
      },
    }),
    "1 denied, of team red",
  );
  const wrong = await gateway.gateway.trials.run({
    kind: "config",
    files: [{ name: "gateway.yaml", text: "routes: 1" }],
  }, 1000);
  assert.match(JSON.stringify(wrong), /gateway.yaml:1:/);
});

Deno.test("without an admin token, rules are tried, but no configurations: their answers tell of the environment", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{ name: "all", policies: { directResponse: { status: 200 } } }],
    },
  });
  const post = (body: unknown) =>
    fetch(`${gateway.admin}/try`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  const rule = await post({ rule: "true" });
  const files = await post({ files: [{ name: "a.yaml", text: "" }] });
  const draft = await post({ draft: { hash: "", name: "", text: "" } });

  await rule.body?.cancel();
  assert.deepEqual(
    [rule.status, files.status, draft.status],
    [200, 403, 403],
  );
  assert.match(await files.text(), /config\.adminToken/);
  await draft.body?.cancel();
});
