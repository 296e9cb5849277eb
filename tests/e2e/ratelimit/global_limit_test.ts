import assert from "node:assert/strict";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { KvConnectServer } from "../../harness/servers/kv_connect_server.ts";
import {
  budgetsOf,
  byUser,
  chat,
  limitedRoute,
  send,
  sendUntilDecided,
  textOf,
  upstreamThatSaysOk,
} from "../../harness/gateway/limited_gateway.ts";
import { PatientClock } from "../../harness/time/patient_clock.ts";
import { startReloadableGateway } from "../../harness/gateway/reloadable_gateway.ts";

/** A folder for a store, removed at the end. */
class KvFile implements AsyncDisposable {
  readonly #folder = Deno.makeTempDirSync();

  get config() {
    return { kv: { path: `${this.#folder}/limits.db` } };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Deno.remove(this.#folder, { recursive: true });
  }
}

/**
 * Starts a gateway that shares the budgets of a file.
 * @param clock Patient: a busy machine must not make requests fail that wait for the store.
 */
function startOnFile(
  { config }: KvFile,
  upstream: ReturnType<typeof upstreamThatSaysOk>,
  { requests, clock }: {
    readonly requests: number;
    readonly clock: PatientClock;
  },
) {
  const limits = { domain: "fleet", descriptors: [byUser({ requests })] };
  const routes = [limitedRoute(upstream, limits)];
  return startTestGateway({ config, routes }, {}, [], { clock });
}

/** Sends requests one after the other; answers how many were admitted. */
async function countAdmitted(
  gateway: { readonly origin: string },
  requests: number,
): Promise<number> {
  let admitted = 0;
  for (let sent = 0; sent < requests; sent++) {
    const { status } = await send(gateway);
    assert(status === 200 || status === 429, `${status}`);
    if (status === 200) admitted++;
  }
  return admitted;
}

Deno.test("gateways on one KV file share the budget of each user", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const clock = new PatientClock();
  const start = () => startOnFile(file, upstream, { requests: 6, clock });
  await using first = await start();
  await using second = await start();

  const statuses: number[] = [];
  for (let round = 0; round < 4; round++) {
    for (const gateway of [first, second]) {
      statuses.push((await send(gateway)).status);
    }
  }
  const refused = await send(second);
  const other = await send(second, "otto");

  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429, 429]);
  const { headers } = refused;
  assert.equal(headers["x-ratelimit-limit"], "6");
  assert.equal(headers["x-ratelimit-remaining"], "0");
  assert.equal(headers["x-ext-ratelimited"], "true");
  assert.equal(headers["retry-after"], headers["x-ratelimit-reset"]);
  assert(Number(headers["retry-after"]) > 3500);
  assert.equal(textOf(refused), "rate limit exceeded");
  assert.equal(other.status, 200);
  assert.equal(other.headers["x-ext-ratelimited"], undefined);
});

Deno.test("tokens used at one gateway count at the other", async () => {
  const llm = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => llm.close() };
  await using file = new KvFile();
  const clock = new PatientClock();
  const start = () =>
    startTestGateway(
      {
        config: file.config,
        routes: [limitedRoute({ port: Number(new URL(llm.origin).port) }, {
          domain: "fleet",
          descriptors: [byUser({ tokens: 20 })],
        })],
      },
      {},
      [],
      { clock },
    );
  await using first = await start();
  await using second = await start();
  // Nine tokens each; what is used is known elsewhere after the next sweep at the latest.
  const statuses = [await chat(first), await chat(first), await chat(first)]
    .map(({ status }) => status);
  let remaining: unknown;
  do {
    clock.advance(1000);
    const response = await chat(second);
    remaining = response.headers.get("x-ratelimit-remaining");
    statuses.push(response.status);
  } while (statuses.at(-1) !== 429 && statuses.length < 200);

  assert.deepEqual(statuses.slice(0, 3), [200, 200, 200]);
  assert.equal(statuses.at(-1), 429);
  assert.equal(remaining, "0");
  const [budget] = await budgetsOf(second);
  assert.equal(budget?.["entry"], "20 tokens per hour, by user");
});

Deno.test("a reload keeps leases and budgets", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const route = limitedRoute(upstream, {
    domain: "fleet",
    descriptors: [byUser({ requests: 1000 })],
  });
  await using gateway = await startReloadableGateway([{
    config: file.config,
    routes: [route],
  }], { clock: new PatientClock() });
  await Promise.all(Array.from({ length: 64 }, () => send(gateway)));
  await Promise.all(Array.from({ length: 64 }, () => send(gateway)));
  const [before] = await budgetsOf(gateway);

  const isAccepted = await gateway.reload([{
    config: file.config,
    routes: [{ ...route, name: "renamed" }],
  }]);
  const { headers } = await send(gateway);

  assert.equal(isAccepted, true);
  assert.equal(before?.["remaining"], 872);
  assert.equal(headers["x-ratelimit-remaining"], "871");
  const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
  assert.match(
    metrics,
    /gateway_rate_limit_shared_requests_total\{store="KV",domain="fleet",result="admitted"\} 129\n/,
  );
});

Deno.test("a reload that needs a store which the process does not have is rejected", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const route = limitedRoute(upstream, {
    domain: "fleet",
    descriptors: [byUser({ requests: 1 })],
  });
  const { policies: _, ...plain } = route;
  await using gateway = await startReloadableGateway([{ routes: [plain] }]);

  const isAccepted = await gateway.reload([{
    config: file.config,
    routes: [route],
  }]);

  assert.equal(isAccepted, false);
  assert.match(gateway.log.join(""), /Cannot share limits: .*"config\.kv"/);
  assert.equal((await send(gateway)).status, 200);
});

Deno.test("a gateway that stops returns its leases", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  const clock = new PatientClock();
  const start = () => startOnFile(file, upstream, { requests: 200, clock });
  await using second = await start();
  {
    await using first = await start();
    for (let round = 0; round < 2; round++) {
      const burst = Array.from({ length: 40 }, () => send(first));
      await Promise.all(burst);
    }
    const [{ leased } = { leased: 0 }] = await budgetsOf(first);
    assert(Number(leased) > 0);
  }

  const admitted = await countAdmitted(second, 130);

  assert.equal(admitted, 120);
});

Deno.test("gateways on a KV Connect server share a budget", async () => {
  Deno.env.set("DENO_KV_ACCESS_TOKEN", KvConnectServer.token);
  await using upstream = upstreamThatSaysOk();
  await using server = new KvConnectServer();
  const clock = new PatientClock();
  const start = () =>
    startTestGateway(
      {
        config: { kv: { url: server.url } },
        routes: [limitedRoute(upstream, {
          domain: "fleet",
          descriptors: [byUser({ requests: 10 })],
        })],
      },
      {},
      [],
      { clock },
    );
  await using first = await start();
  await using second = await start();

  const admitted = [
    await countAdmitted(first, 7),
    await countAdmitted(second, 7),
  ];

  assert.deepEqual(admitted, [7, 3]);
});

for (const failureMode of ["Closed", "Open"]) {
  Deno.test(`while a KV Connect server is down, failure mode ${failureMode} decides`, async () => {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", KvConnectServer.token);
    await using upstream = upstreamThatSaysOk();
    await using server = new KvConnectServer();
    await using gateway = await startTestGateway({
      config: { kv: { url: server.url } },
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        failureMode,
        descriptors: [byUser({ requests: 10 })],
      })],
    });
    await server.stop();

    const down = await send(gateway);
    const [budget] = await budgetsOf(gateway);
    server.start();
    let back = await send(gateway);
    while (back.headers["x-ratelimit-remaining"] === undefined) {
      back = await send(gateway);
    }

    assert.equal(down.status, failureMode === "Open" ? 200 : 503);
    assert.equal(budget?.["state"], "failing");
    assert.notEqual(budget["lastError"], undefined);
    assert.equal(back.status, 200);
    assert.equal(back.headers["x-ratelimit-remaining"], "9");
  });
}

Deno.test("gwctl proxy limits shows global limits", async () => {
  await using upstream = upstreamThatSaysOk();
  await using file = new KvFile();
  await using gateway = await GatewayProcess.start({
    config: {
      config: file.config,
      routes: [limitedRoute(upstream, {
        domain: "fleet",
        descriptors: [byUser({ requests: 30, burst: 10 })],
      })],
    },
  });
  const admin = new URL(gateway.admin).host;
  const showLimits = async () => {
    const { stdout } = await gatewayCommand({
      args: ["ctl", "proxy", "limits", "--admin", admin],
    }).output();
    return new TextDecoder().decode(stdout).split("\n")
      .map((line) => line.split(/ {2,}/));
  };

  const [, rowAtStart] = await showLimits();
  for (const user of ["anna", "otto", "anna"]) {
    await sendUntilDecided(gateway, user);
  }
  const [titles, row] = await showLimits();

  // Others may have used it up: nobody has asked the store yet.
  assert.deepEqual(rowAtStart?.slice(2), ["-", "40", "0", "0", "0", "ready"]);
  assert.deepEqual(titles, [
    ...["SCOPE", "LIMIT", "LEFT", "OF", "RESET", "KEYS"],
    ...["LEASED", "PENDING", "STATE"],
  ]);
  assert.deepEqual(row?.slice(0, 4), [
    "KV/fleet",
    "30 requests per hour, burst 10, by user",
    "38",
    "40",
  ]);
  assert.equal(row[5], "2");
  assert.equal(row.at(-1), "ready");
});
