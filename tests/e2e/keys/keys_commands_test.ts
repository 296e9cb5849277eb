import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { keyedPolicies, statusOf } from "../../harness/keys/stored_keys.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

async function ctl({ admin }: GatewayProcess, ...args: readonly string[]) {
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["ctl", ...args, "--admin", new URL(admin).host],
  }).output();
  const decoder = new TextDecoder();
  return {
    code,
    out: decoder.decode(stdout),
    error: decoder.decode(stderr),
  };
}

Deno.test("a team gets a key with two commands, is seen in the usage under its ID, and loses the key with one", async () => {
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({
      model: "gpt-4o",
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    })),
  }));
  await using gateway = await GatewayProcess.start({
    config: {
      config: { kv: { path: ":memory:" } },
      routes: [{
        name: "llm",
        policies: { apiKeyAuthentication: { stored: true } },
        backends: upstream.backends,
      }],
    },
  });
  const ask = (key: string, model = "gpt-4o") =>
    statusOf(`${gateway.origin}/v1/chat/completions`, key, {
      method: "POST",
      headers: { "content-type": json },
      body: JSON.stringify({ model }),
    });

  const team = await ctl(
    gateway,
    ...["teams", "create", "blue", "--budget", "5usd/month"],
    ...["--notify-at", "80,100", "--metadata", "tier=gold"],
  );
  const created = await ctl(
    gateway,
    ...["keys", "create", "--team", "blue", "--model", "gpt-4o*"],
    ...["--expires", "90d"],
  );
  const key = created.out.trim();
  const [id = ""] = /key_[0-9a-f]+/.exec(created.error) ?? [];
  assert.equal(await ask(key), 200);
  assert.equal(await ask(key, "o1"), 403);
  await ctl(gateway, "keys", "update", id, "--model", "o*");
  assert.equal(await ask(key, "o1"), 200);
  const rotated = await ctl(gateway, "keys", "rotate", id, "--overlap", "1h");
  assert.equal(await ask(rotated.out.trim(), "o1"), 200);
  assert.equal(await ask(key, "o1"), 200);
  const ended = await ctl(gateway, "keys", "rotate", id);
  const updated = await ctl(
    gateway,
    ...["teams", "update", "blue", "--budget", "5usd/month"],
    ...["--budget", "100requests/hour", "--notify-at", "80,100"],
  );
  await ctl(
    gateway,
    ...["teams", "update", "blue", "--budget", "5usd/month"],
    ...["--notify-at", "80,100"],
  );
  const list = await ctl(gateway, "keys", "list", "--team", "blue");
  await ctl(
    gateway,
    ...["teams", "update", "blue", "--self-service-keys", "3"],
    ...["--self-service-budget", "20usd/month"],
  );
  const shown = await ctl(gateway, "teams", "show", "blue", "-o", "json");
  await ctl(gateway, "teams", "update", "blue", "--self-service-keys", "0");
  const without = await ctl(gateway, "teams", "show", "blue", "-o", "json");
  const byTeam = await ctl(gateway, "proxy", "usage", "--by", "team");
  const byKey = await ctl(gateway, "proxy", "usage", "-o", "json");
  const tried = await ctl(
    gateway,
    ...["try", "rule", "llm.requestModel == 'o1'", "--against", "last=9"],
  );
  const revoked = await ctl(gateway, "keys", "revoke", id);
  assert.equal(await ask(ended.out.trim(), "o1"), 401);
  const again = await ctl(gateway, "keys", "resume", id);
  const wrong = await ctl(gateway, "keys", "create", "--budget", "5/month");

  assert.equal(team.error, "team created: blue\n");
  const { selfService, left } = JSON.parse(shown.out);
  assert.deepEqual(selfService, {
    maxKeys: 3,
    maxLifetime: "720h",
    budgets: [{ cost: { usd: 20, unit: "Months" } }],
  });
  assert.equal(JSON.parse(without.out).selfService, undefined);
  assert.equal(left.length, 1, shown.out);
  assert.equal(typeof left[0].remaining, "number");
  assert.match(left[0].resetsAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.match(created.error, /^key created: \S+; the key is not .*:\n$/);
  assert.match(
    rotated.error,
    new RegExp(
      `^key rotated: ${id}, the old key is valid until \\d{4}-\\S+Z; `,
    ),
  );
  assert.match(ended.error, /, the old key is no longer valid; the key is/);
  assert.equal(
    updated.error,
    "team updated: blue, budgets 5usd/month, 100requests/hour\n",
  );
  assert.match(created.out, /^gk_[\w-]{43}\n$/);
  assert.match(
    list.out,
    new RegExp(`^ID .*\n${id} .* blue .* gk_.{7}… .* active `),
  );
  assert.deepEqual(JSON.parse(shown.out).budgets, [{
    cost: { usd: 5, unit: "Months" },
    notifyAt: [80, 100],
  }]);
  assert.match(byTeam.out, /^TEAM .*\nblue +4 +40 +20 /);
  assert.deepEqual(
    JSON.parse(byKey.out).map(({ name }: { name: string }) => name),
    [id],
  );
  assert.match(tried.out, /^Of 4 requests since .*: 1 denied, of team blue\n/);
  assert.match(tried.out, / llm\.requestModel is "gpt-4o"\n/);
  assert.equal(revoked.error, `key revoked: ${id}\n`);
  assert.deepEqual([again.code, wrong.code], [1, 2]);
  assert.match(again.error, /is revoked, for good/);
  assert.match(wrong.error, /Invalid budget "5\/month"/);
});

Deno.test("a key that may do everything for ever gets a warning on standard error", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      config: { kv: { path: ":memory:" } },
      routes: [{ name: "all", policies: keyedPolicies }],
    },
  });
  const create = (...options: readonly string[]) =>
    ctl(gateway, "keys", "create", ...options);

  const open = await create("--name", "ci");
  const ending = await create("--expires", "1d");
  const json = await create("-o", "json");
  const restricted = await create("--model", "gpt-4o");

  assert.match(open.out, /^gk_[\w-]{43}\n$/);
  assert.match(
    open.error,
    /\nwarning: the key has no restriction and no budget and never expires: see --team, .*, --expires\n$/,
  );
  assert.match(ending.error, /\nwarning: .* no budget: see .*--budget\n$/);
  assert.match(JSON.parse(json.out).secret, /^gk_/);
  assert.match(json.error, /^warning: /);
  assert.doesNotMatch(restricted.error, /warning/);
});
