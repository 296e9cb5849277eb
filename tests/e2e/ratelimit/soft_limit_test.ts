import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const backend = { policies: { directResponse: { status: 200, body: "ok" } } };

const soft = { requests: 2, unit: "Days", whenExceeded: "Warn" };
const variants = {
  local: { rateLimit: { local: [soft] } },
  "local, with two workers": { workers: 2, rateLimit: { local: [soft] } },
  "global, in Deno KV": {
    kv: { path: ":memory:" },
    rateLimit: {
      global: {
        domain: "d",
        descriptors: [{ ...soft, entries: [{ key: "all", value: "'x'" }] }],
      },
    },
  },
};

for (const [name, { rateLimit, ...config }] of Object.entries(variants)) {
  Deno.test(`a limit that only warns rejects nothing, and the log says when it is used up: ${name}`, async () => {
    await using gateway = await startTestGateway({
      config,
      routes: [{
        name: "r",
        policies: { ...backend.policies, rateLimit },
      }],
    });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) {
      statuses.push((await fetchRaw(gateway.origin)).status);
    }

    assert.deepEqual(new Set(statuses), new Set([200]));
    const { headers } = await fetchRaw(gateway.origin);
    assert.equal(headers["x-ratelimit-remaining"], "0");
    await gateway[Symbol.asyncDispose]();
    const warnings = gateway.log.join("").split(
      "A limit that only warns is used up",
    );
    assert(warnings.length >= 2 && warnings.length <= 3, gateway.log.join(""));
    assert.match(gateway.log.join(""), /2 requests per day, only warns/);
  });
}

Deno.test("a limit of phase PreRouting counts requests before anybody is authenticated", async () => {
  await using gateway = await startTestGateway({
    routes: [{
      name: "r",
      policies: {
        ...backend.policies,
        apiKeyAuthentication: { keys: [{ key: "right-key" }] },
        rateLimit: { local: [{ requests: 50, unit: "Days" }] },
      },
    }],
    policies: [{
      name: "guessing",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        rateLimit: {
          local: [{ requests: 3, unit: "Days", key: "source.address" }],
        },
      },
    }],
  });
  const send = async (key: string) => {
    const { status, headers } = await fetchRaw(gateway.origin, {
      headers: { authorization: `Bearer ${key}` },
    });
    return `${status} ${headers["x-ratelimit-remaining"]}`;
  };

  assert.equal(await send("wrong"), "401 2");
  assert.equal(await send("wrong"), "401 1");
  // Of both limits, the one with the least left.
  assert.equal(await send("right-key"), "200 0");
  assert.equal(await send("right-key"), "429 0");
  const { budgets } = await gateway.gateway.dataPlane.call("describeState");
  assert.deepEqual(
    budgets.map(({ scope, remaining }) => [scope, remaining]),
    [["HTTPRoute/default/r", 49], ["Gateway/default/default", 0]],
  );
});
