import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { keyedPolicies, statusOf } from "../../harness/keys/stored_keys.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Runs `gwctl keys import` with a file; returns what it printed. */
async function importKeys(
  { admin }: GatewayProcess,
  text: string,
  ...args: readonly string[]
) {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, text);
  const { code, stdout, stderr } = await gatewayCommand({
    args: [
      ...["ctl", "keys", "import", file, "--admin", new URL(admin).host],
      ...args,
    ],
  }).output();
  await Deno.remove(file);
  const decode = (bytes: Uint8Array) =>
    new TextDecoder().decode(bytes).replaceAll(file, "FILE");
  return { code, printed: decode(stdout), reported: decode(stderr) };
}

function start(): Promise<GatewayProcess> {
  return GatewayProcess.start({
    config: {
      config: { kv: { path: ":memory:" } },
      routes: [{ name: "r", policies: keyedPolicies }],
    },
  });
}

async function keysOf({ admin }: GatewayProcess) {
  const response = await fetch(`${admin}/access/keys`);
  const { objects } = await response.json();
  return objects;
}

Deno.test("keys of LiteLLM are imported by their hashes, with owners, models, budgets and expiry; clients keep theirs", async () => {
  await using gateway = await start();
  const rows = [
    {
      token: hashOf("sk-anna"),
      key_alias: "ci",
      team_id: "Blue Team",
      user_id: "anna",
      models: [],
      metadata: { tier: "gold" },
      expires: "2999-01-01T00:00:00",
      max_budget: 50,
      budget_duration: "30d",
      rpm_limit: 60,
      spend: 1.5,
    },
    { token: hashOf("sk-model"), models: ["gpt-4o"], blocked: null },
    { token: hashOf("sk-blocked"), blocked: true },
    { token: hashOf("sk-ever"), max_budget: 5 },
    {
      team_id: "Blue Team",
      team_alias: "Blue",
      max_budget: 500,
      budget_duration: "1mo",
    },
  ];
  const text = JSON.stringify({ keys: rows }, null, 1);

  const dry = await importKeys(gateway, text, "--dry-run");
  assert.match(dry.printed, /^team blue-team\nuser anna\nkey litellm_/);
  assert.equal(await statusOf(gateway.origin, "sk-anna"), 401);
  const { code, reported } = await importKeys(gateway, text);

  assert.equal(code, 0, reported);
  assert.match(reported, /^FILE:3:3: warning: spend: budgets begin unused$/m);
  assert.match(
    reported,
    /^FILE:\d+:3: warning: blocked: no counterpart; the row is left out$/m,
  );
  assert.match(
    reported,
    /: warning: max_budget: no counterpart with the window without an end; the row is left out$/m,
  );
  assert.match(reported, /^4 created, 0 failed, \d warnings$/m);
  assert.equal(await statusOf(gateway.origin, "sk-anna"), 200);
  assert.equal(await statusOf(gateway.origin, "sk-model"), 200);
  assert.equal(await statusOf(gateway.origin, "sk-blocked"), 401);
  assert.equal(await statusOf(gateway.origin, "sk-ever"), 401);
  const key = (await keysOf(gateway)).find(({ name }: { name?: string }) =>
    name === "ci"
  );
  assert.deepEqual(
    [key.team, key.user, key.expiresAt, key.budgets, key.metadata],
    [
      "blue-team",
      "anna",
      "2999-01-01T00:00:00.000Z",
      [{ requests: 60, unit: "Minutes" }, {
        cost: { usd: 50, unit: "Months" },
      }],
      { tier: "gold" },
    ],
  );

  const again = await importKeys(gateway, text);
  assert.equal(again.code, 1);
  assert.match(again.reported, /: error: .*"blue-team" exists already/);
});

Deno.test("pages of keys are imported one by one, after their team: without it, they could do more", async () => {
  await using gateway = await start();
  const page = (number: number) =>
    JSON.stringify({
      keys: [{ token: hashOf(`sk-page-${number}`), team_id: "blue" }],
      total_pages: 2,
      current_page: number,
    });

  const early = await importKeys(gateway, page(1));
  const status = await statusOf(gateway.origin, "sk-page-1");
  await importKeys(gateway, JSON.stringify([{ team_id: "blue" }]));
  const first = await importKeys(gateway, page(1));
  const second = await importKeys(gateway, page(2));

  assert.equal(early.code, 1);
  assert.match(
    early.reported,
    /: error: the team "blue" is neither in the file nor in the store: import \/team\/list first;/,
  );
  assert.match(early.reported, /^0 created, 1 failed, 1 warning$/m);
  assert.equal(status, 401);
  assert.equal(first.code, 0, first.reported);
  assert.match(
    first.reported,
    /: warning: total_pages: the file is one of 2 pages; import the others, too$/m,
  );
  assert.equal(second.code, 0, second.reported);
  assert.match(second.reported, /^1 created, 0 failed, 1 warning$/m);
  assert.equal(await statusOf(gateway.origin, "sk-page-2"), 200);
});

Deno.test("keys of LiteLLM are imported from CSV, and invalid rows are named by their lines", async () => {
  await using gateway = await start();
  const { code, reported } = await importKeys(
    gateway,
    `token,key_alias,models,expires,metadata
${hashOf("sk-csv")},"a, ""b""",{gpt-4o},,{}
not-a-hash,x,{},,{}
${hashOf("sk-late")},x,{},soon,{}
`,
  );
  assert.equal(code, 0, reported);
  assert.match(
    reported,
    /^FILE:3:1: warning: token: expected a SHA-256 digest/m,
  );
  assert.match(
    reported,
    /^FILE:4:1: warning: expires: expected a time, got "soon"; the key is left out$/m,
  );
  const [key, ...others] = await keysOf(gateway);
  assert.deepEqual([key.name, key.allow, others], [
    'a, "b"',
    { models: ["gpt-4o"] },
    [],
  ]);
});

Deno.test("a file without keys is no table of LiteLLM", async () => {
  await using gateway = await start();
  const { code, reported } = await importKeys(gateway, "a,b\n1,2\n");
  assert.equal(code, 1);
  assert.match(
    reported,
    /expected rows with "token" or "team_id", as JSON or CSV/,
  );
  const torn = await importKeys(gateway, 'token,models\na,b"c\nd,e\n');
  assert.equal(torn.code, 1);
  assert.match(torn.reported, /line 2: a quote in the wrong place/);
});
