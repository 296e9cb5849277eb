import assert from "node:assert/strict";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  create,
  keyedPolicies,
  run,
  statusOf,
  untilStatus,
} from "../../harness/keys/stored_keys.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const kv = { path: ":memory:" };

function start(workers = 1): Promise<TestGateway> {
  return startTestGateway({
    config: { kv, workers },
    routes: [
      { name: "r", policies: keyedPolicies },
      {
        name: "other",
        matches: [{ path: { type: "PathPrefix", value: "/other" } }],
        policies: keyedPolicies,
      },
    ],
  });
}

function post(body: unknown): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": json },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
}

const chat = "/v1/chat/completions";

function call(name: string): RequestInit {
  return post({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name },
  });
}

Deno.test("a key is restricted to models, tools, routes and addresses; restrictions of its team apply, too", async () => {
  await using gateway = await start();
  const { origin } = gateway;
  await create(gateway, "team", { id: "red", allow: { models: ["gpt-*"] } });
  const { secret: llm } = await create(gateway, "key", {
    team: "red",
    allow: { models: ["gpt-4o", "o1"] },
  });
  const { secret: mcp } = await create(gateway, "key", {
    allow: { tools: ["read_*", "list"], routes: ["r"] },
  });
  const { secret: far } = await create(gateway, "key", {
    allow: { addresses: ["10.0.0.0/8", "2001:db8::1"] },
  });
  const { secret: near } = await create(gateway, "key", {
    allow: { addresses: ["127.0.0.1"], routes: ["default/oth*"] },
  });

  const cases: readonly (readonly [string, string, RequestInit, number])[] = [
    [llm, chat, post({ model: "gpt-4o" }), 200],
    [llm, chat, post({ model: "o1" }), 403],
    [llm, chat, post({ model: "gpt-5" }), 403],
    [llm, chat, post({}), 403],
    [llm, chat, post("not JSON"), 403],
    [llm, "/", call("anything"), 200],
    [llm, "/", {}, 200],
    [mcp, "/", call("read_file"), 200],
    [mcp, "/", call("drop"), 403],
    [mcp, "/", post("not JSON"), 403],
    [mcp, chat, post({ model: "o1", messages: [] }), 200],
    [mcp, chat, call("drop"), 403],
    [mcp, chat, call("list"), 200],
    [mcp, chat, post("not JSON"), 403],
    [mcp, "/other", {}, 403],
    [far, "/", {}, 403],
    [near, "/", {}, 403],
    [near, "/other", {}, 200],
  ];
  for (const [key, path, init, expected] of cases) {
    const status = await statusOf(origin + path, key, init);
    assert.equal(status, expected, `${path} ${init.body}`);
  }
  assert.match(
    gateway.accessLog.join("\n"),
    /reason=api_key_access error="key key_\w+ \(team red\) may not use model \\"o1\\"; team red allows: gpt-\*"/,
  );
  assert.doesNotMatch(gateway.accessLog.join("\n"), /requestModel/);
});

Deno.test("a denial by a key names the key, its owners, what was asked for, and what is allowed", async () => {
  await using gateway = await start();
  const { origin } = gateway;
  await create(gateway, "team", { id: "red" });
  const { secret } = await create(gateway, "key", {
    id: "ci-bot",
    name: "build",
    team: "red",
    allow: {
      models: ["gpt-4o"],
      tools: ["read_*"],
      addresses: ["127.0.0.1"],
      routes: ["r"],
    },
  });
  const { secret: far } = await create(gateway, "key", {
    id: "far",
    allow: { addresses: ["10.0.0.0/8"] },
  });
  const who = 'key ci-bot "build" (team red)';
  const cases: readonly (readonly [string, string, RequestInit, string])[] = [
    [
      secret,
      chat,
      post({ model: "o1" }),
      `${who} may not use model "o1"; allowed: gpt-4o`,
    ],
    [
      secret,
      chat,
      post({}),
      `${who} may not send a request whose model is not known; allowed: gpt-4o`,
    ],
    [
      secret,
      "/",
      call("drop"),
      `${who} may not call tool "drop"; allowed: read_*`,
    ],
    [
      secret,
      "/other",
      {},
      `${who} may not use route "default/other"; allowed: r`,
    ],
    [
      far,
      "/",
      {},
      'key far may not be used from address "127.0.0.1"; allowed: 10.0.0.0/8',
    ],
  ];
  for (const [key, path, init] of cases) {
    assert.equal(await statusOf(origin + path, key, init), 403);
  }

  const { requests } = await gateway.gateway.dataPlane.call("requests", {
    limit: 100,
  });
  assert.deepEqual(
    requests.map(({ cause }) => cause).toSorted(),
    cases.map(([, , , message]) => `K${message.slice(1)}.`).toSorted(),
  );
  const byTool = requests.find(({ mcpTool }) => mcpTool === "drop");
  const report = await gateway.gateway.dataPlane.call(
    "request",
    byTool?.record ?? "",
  );
  assert.match(report?.advice ?? "", /`gwctl keys show ci-bot`\.$/);
  assert.doesNotMatch(JSON.stringify(report), /mcp\.tool\.name/);
});

Deno.test("a list shows the tools that the key may call", async () => {
  const tools = ["read_a", "drop", "read_b"].map((name) => ({ name }));
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } });
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send(
      `HTTP/1.1 200 OK\r\nContent-Type: ${json}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
  await using gateway = await startTestGateway({
    config: { kv },
    routes: [{
      name: "r",
      policies: { apiKeyAuthentication: { stored: true } },
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });
  const { secret } = await create(gateway, "key", {
    allow: { tools: ["read_*"] },
  });

  const response = await fetch(gateway.origin, {
    ...post({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    headers: { "content-type": json, "x-api-key": secret },
  });

  const { result } = await response.json();
  assert.deepEqual(result.tools, [{ name: "read_a" }, { name: "read_b" }]);
});

for (const workers of [1, 2]) {
  Deno.test(`budgets of key, user and team all apply, and stay when the key is rotated, with ${workers} workers`, async () => {
    await using gateway = await start(workers);
    const perMinute = (requests: number, more = {}) => ({
      budgets: [{ requests, unit: "Hours", ...more }],
    });
    await create(gateway, "team", {
      id: "t",
      ...perMinute(6, { notifyAt: [50] }),
    });
    await create(gateway, "user", { id: "u", team: "t", ...perMinute(4) });
    const { object, secret } = await create(gateway, "key", {
      user: "u",
      ...perMinute(3),
    });
    const { secret: second } = await create(gateway, "key", { user: "u" });
    const { secret: third } = await create(gateway, "key", { team: "t" });
    const countAdmitted = async (key: string) => {
      let admitted = 0;
      while (await statusOf(gateway.origin, key) === 200) admitted++;
      return admitted;
    };

    assert.equal(await countAdmitted(secret), 3);
    const rotated = await run(gateway, {
      kind: "key",
      do: "rotate",
      id: object.id,
      overlapMs: 0,
    });
    assert.equal(await countAdmitted(rotated.secret), 0);
    assert.equal(await countAdmitted(second), 1);
    assert.equal(await countAdmitted(third), 2);
    await gateway[Symbol.asyncDispose]();
    const log = gateway.log.join("\n");
    assert.match(
      log,
      /Budget threshold reached kind=team id=t unit=requests limit=6 .*percent=50/,
    );
    assert.match(
      gateway.accessLog.join("\n"),
      /http\.status=429 .*reason=api_key_budget error="Limit .*3 requests per hour, by key/,
    );
  });
}

Deno.test("of a fleet, one process tells the webhook that a budget comes to its end, once", async () => {
  const received: string[] = [];
  const isComplete = Promise.withResolvers<void>();
  await using webhook = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      received.push(
        `${request.headers.get("authorization")} ${await request.text()}`,
      );
      if (received.length === 2) isComplete.resolve();
      return new Response(null, { status: received.length === 1 ? 500 : 204 });
    },
  );
  const folder = await Deno.makeTempDir();
  const config = {
    kv: { path: `${folder}/keys.db` },
    budgetWebhook: {
      url: `http://127.0.0.1:${webhook.addr.port}/hook`,
      authorization: "Bearer planted",
    },
  };
  const routes = [{ name: "r", policies: keyedPolicies }];
  {
    await using first = await startTestGateway({ config, routes });
    await using second = await startTestGateway({ config, routes });
    const { object, secret } = await create(first, "key", {
      budgets: [{ requests: 4, unit: "Hours", notifyAt: [50] }],
    });
    await untilStatus(second.origin, secret, 200);
    for (const { origin } of [first, second, first, second]) {
      await statusOf(origin, secret);
    }
    await isComplete.promise;

    const [, last = ""] = received;
    assert.match(
      last,
      new RegExp(
        `^Bearer planted \\{"type":"budget","at":"[^"]+","kind":"key","id":"${object.id}","unit":"requests","limit":4,.*"percent":50`,
      ),
    );
    const metrics = await Promise.all(
      [first, second].map(({ gateway }) =>
        gateway.dataPlane.call("collectMetrics")
      ),
    );
    const given = [
      ...metrics.join("").matchAll(
        /^gateway_budget_notices_total\{result="given"\} (\d)$/gm,
      ),
    ].map(([, count]) => Number(count));
    assert.equal(given.reduce((sum, count) => sum + count, 0), 1);
  }
  assert.equal(received.length, 2);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a budget in money is charged what the tokens cost", async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({ model: "gpt-4o", choices: [], usage })),
  }));
  await using gateway = await startTestGateway({
    config: { kv },
    routes: [{
      name: "llm",
      policies: { apiKeyAuthentication: { stored: true } },
      backends: upstream.backends,
    }],
  });
  // A request costs 0.0125 dollars.
  const { secret } = await create(gateway, "key", {
    budgets: [{ cost: { usd: 0.02, unit: "Months" }, reserve: false }],
  });
  const ask = () =>
    statusOf(gateway.origin + chat, secret, post({ model: "gpt-4o" }));

  let admitted = 0;
  const giveUpAt = Date.now() + 30_000;
  while (await ask() === 200 && Date.now() < giveUpAt) admitted++;

  assert(admitted === 2 || admitted === 3, String(admitted));
});

Deno.test("expressions see the metadata of the team, the user and the key, and whose key it is", async () => {
  await using gateway = await startTestGateway({
    config: { kv },
    routes: [{
      name: "r",
      policies: {
        ...keyedPolicies,
        transformation: {
          response: { set: [{ name: "x-caller", value: "toJson(apiKey)" }] },
        },
      },
    }],
  });
  await create(gateway, "team", { id: "t", metadata: { tier: "gold", a: 1 } });
  await create(gateway, "user", { id: "u", team: "t", metadata: { a: 2 } });
  const { object: { id }, secret } = await create(gateway, "key", {
    user: "u",
    name: "ci",
    metadata: { b: [true] },
  });

  const response = await fetch(gateway.origin, {
    headers: { "x-api-key": secret },
  });

  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.deepEqual(JSON.parse(response.headers.get("x-caller") ?? ""), {
    tier: "gold",
    a: 2,
    b: [true],
    id,
    name: "ci",
    user: "u",
    team: "t",
  });
});
