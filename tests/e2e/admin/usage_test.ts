import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { usageRows } from "../../harness/gateway/usage_rows.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const usage = { prompt_tokens: 1000, completion_tokens: 1000 };

function configOf(
  upstream: LlmUpstream,
  config: Readonly<Record<string, unknown>>,
) {
  return {
    config,
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
        rateLimit: {
          local: [{ tokens: 3000, unit: "Days", key: "apiKey.team" }],
          ...(config["kv"] !== undefined && {
            global: {
              domain: "llm",
              // A busy machine must not make the store seem to be away.
              timeout: "10s",
              descriptors: [{
                requests: 9,
                unit: "Days",
                entries: [{ key: "team", value: "apiKey.team" }],
              }],
            },
          }),
        },
      },
    }],
  };
}

async function ask(
  { origin }: TestGateway,
  team: string,
  path = "/v1/chat/completions",
): Promise<number> {
  const { status } = await fetchRaw(`${origin}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer key-of-${team}`,
      "content-type": json,
    },
    body: '{"model":"gpt-4o","messages":[]}',
  });
  return status;
}

/** Reads the sums by key, model and route. */
async function usageOf({ gateway: { dataPlane } }: TestGateway) {
  const rows = await usageRows(dataPlane);
  return rows.map(({ key, model, route, ...row }) =>
    `${key} ${model} ${route}: ${row.requests} ${row.inputTokens}+${row.outputTokens} ${
      row.nanoUsd / 1e9
    } ${row.uncounted}`
  ).sort();
}

for (const workers of [1, 2]) {
  Deno.test(`a gateway with ${workers} worker(s) knows who used what, and resets budgets`, async () => {
    await using upstream = await LlmUpstream.start(({ url }) => ({
      contentType: json,
      body: bytesOf(JSON.stringify(url.startsWith("/v1") ? { usage } : {})),
    }));
    await using gateway = await startTestGateway(
      configOf(upstream, { workers }),
    );
    for (let i = 0; i < 2; i++) await ask(gateway, "blue");
    await ask(gateway, "red");
    await ask(gateway, "red", "/other");

    assert.deepEqual(await usageOf(gateway), [
      "team=blue gpt-4o llm: 2 2000+2000 0.025 0",
      "team=red gpt-4o llm: 2 1000+1000 0.0125 1",
    ]);

    const { dataPlane } = gateway.gateway;
    assert.equal(await ask(gateway, "blue"), 429);
    assert.equal(await dataPlane.call("resetLimits", { key: "nobody" }), 0);
    assert.equal(await dataPlane.call("resetLimits", { entry: "other" }), 0);
    assert.equal(await ask(gateway, "blue"), 429);
    assert.equal(await dataPlane.call("resetLimits", { key: "blue" }), 1);
    assert.equal(await ask(gateway, "blue"), 200);
    assert.equal(await dataPlane.call("resetLimits", {}), 2);
  });
}

/** Checks what is kept in a store. */
async function checkStore(kv: object): Promise<void> {
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({ usage })),
  }));
  const config = configOf(upstream, { kv });
  {
    await using gateway = await startTestGateway(config);
    assert.equal(await ask(gateway, "blue"), 200);
    await usageOf(gateway);
  }
  await using gateway = await startTestGateway(config);
  assert.equal(await ask(gateway, "blue"), 200);
  assert.deepEqual(await usageOf(gateway), [
    "team=blue gpt-4o llm: 2 2000+2000 0.025 0",
  ]);

  const { dataPlane } = gateway.gateway;
  const left = async () => {
    const { budgets } = await dataPlane.call("describeState");
    return budgets.find(({ scope }) => scope === "KV/llm")?.remaining;
  };
  assert.equal(await left(), 7);
  // The local limit and the shared one.
  assert.equal(await dataPlane.call("resetLimits", { key: "blue" }), 2);
  assert.equal(await left(), 9);
  assert.equal(await ask(gateway, "blue"), 200);
  assert.equal(await left(), 8);
}

Deno.test("with Deno KV, who used what survives a restart, and shared budgets are reset", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await checkStore({ path: `${directory}/db` });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("with Redis, who used what survives a restart, and shared budgets are reset", async () => {
  await using redis = await RedisServer.start();
  await checkStore({ redis: redis.url });
});

Deno.test("gwctl shows who used what, and resets budgets", async () => {
  await using upstream = await LlmUpstream.start(() => ({
    contentType: json,
    body: bytesOf(JSON.stringify({ usage })),
  }));
  await using gateway = await GatewayProcess.start({
    config: configOf(upstream, {}),
  });
  let exitCode = 0;
  const gwctl = async (...args: string[]) => {
    const admin = ["--admin", new URL(gateway.admin).host];
    const { code, stdout, stderr } = await gatewayCommand({
      args: ["ctl", "proxy", ...args, ...admin],
    }).output();
    exitCode = code;
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return text(stdout) + text(stderr);
  };
  assert.equal(await gwctl("usage"), "Nothing was used\n");
  await fetchRaw(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: "Bearer key-of-blue",
      "content-type": json,
    },
    body: '{"model":"gpt-4o","messages":[]}',
  });

  assert.match(
    await gwctl("usage"),
    /^KEY +REQUESTS +INPUT +OUTPUT +USD +UNCOUNTED\nteam=blue +1 +1000 +1000 +0\.012500 +0\n$/,
  );
  assert.match(await gwctl("usage", "--by", "model"), /^MODEL.*\ngpt-4o /);
  assert.match(await gwctl("usage", "--since", "x"), /invalid since/);
  const unknown = await gwctl("limits", "reset", "--limit", "foo");
  assert.equal(exitCode, 1);
  assert.match(unknown, /invalid limit: expected one of these:\n {2}\S/);
  const [, name = ""] = /\n {2}(.*)\n/.exec(unknown) ?? [];
  assert.equal(
    await gwctl("limits", "reset", "--limit", name),
    "1 budget reset\n",
  );
  assert.equal(exitCode, 0);
});
