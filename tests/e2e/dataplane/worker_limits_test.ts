/** Limits of a gateway with several workers: those of one gateway. */
import assert from "node:assert/strict";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { byUser } from "../../harness/gateway/limited_gateway.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

/** The kernel chooses the worker of each connection: all get the same one of two once in 30 000 runs. */
const CONNECTIONS = 16;
const HOUR_SECONDS = 3600;

/** A configuration of two workers whose route has rate limits and responds by itself. */
function limited(rateLimit: Readonly<Record<string, unknown>>, more = {}) {
  return {
    config: { workers: 2, ...more },
    routes: [{
      name: "all",
      policies: {
        rateLimit,
        directResponse: { status: 200, body: "ok" },
      },
    }],
  };
}

/** Sends requests over many connections at the same time, `each` on every connection; returns all responses. */
async function sendMany(
  port: number,
  each: number,
  fieldsOf: (request: number) => string = () => "",
): Promise<string[]> {
  const responses = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      using client = disposable(await connectRaw(port));
      const received: string[] = [];
      for (let request = 0; request < each; request++) {
        const fields = fieldsOf(request);
        await client.send(`GET / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
        received.push(await client.request());
      }
      return received;
    }),
  );
  return responses.flat();
}

function disposable<T extends { close(): void }>(value: T): T & Disposable {
  return Object.assign(value, { [Symbol.dispose]: () => value.close() });
}

/** Counts responses by status. */
function statuses(responses: readonly string[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const response of responses) {
    const status = statusOf(response);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Reads the budgets of `/config_dump`. */
async function readBudgets({ admin }: GatewayProcess) {
  const { budgets } = await (await fetch(`${admin}/config_dump`)).json();
  return budgets;
}

/** Resolves when the limit has been charged so many tokens. */
async function chargedTokens(
  gateway: GatewayProcess,
  expected: number,
): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const [{ charged }] = await readBudgets(gateway);
    if (charged === expected) return;
  }
  throw new Error(`The limit was not charged ${expected} tokens`);
}

async function readMetric(
  { stats }: GatewayProcess,
  name: string,
): Promise<readonly string[]> {
  const text = await (await fetch(`${stats}/metrics`)).text();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`))
    .map((line) => line.slice(line.lastIndexOf("{")));
}

Deno.test("a limit of 100 admits 100 of 400 requests, is shown once, and survives a reload", async () => {
  const limit = { local: [{ requests: 100, unit: "Hours" }] };
  await using gateway = await GatewayProcess.start({ config: limited(limit) });

  const responses = await sendMany(gateway.port, 25);

  assert.deepEqual(statuses(responses), { 200: 100, 429: 300 });
  for (const response of responses) {
    const wait = /^retry-after: (\d+)\r$/im.exec(response)?.[1];
    const seconds = wait === undefined ? undefined : Number(wait);
    assert.equal(seconds !== undefined, statusOf(response) === 429);
    assert(seconds === undefined || seconds <= HOUR_SECONDS);
    assert(seconds === undefined || seconds > HOUR_SECONDS - 60);
  }
  const remaining = responses.filter((each) => statusOf(each) === 200)
    .map((each) => Number(/^x-ratelimit-remaining: (\d+)/im.exec(each)?.[1]));
  assert.equal(Math.min(...remaining), 0);
  const [budget, ...others] = await readBudgets(gateway);
  assert.deepEqual(others, []);
  const { scope, admitted, refused } = budget;
  assert.deepEqual(
    { scope, remaining: budget.remaining, admitted, refused },
    {
      scope: "HTTPRoute/default/all",
      remaining: 0,
      admitted: 100,
      refused: 300,
    },
  );
  assert.deepEqual(
    await readMetric(gateway, "gateway_rate_limit_requests_total"),
    [
      '{scope="HTTPRoute/default/all",limit="100 requests per hour",result="admitted"} 100',
      '{scope="HTTPRoute/default/all",limit="100 requests per hour",result="refused"} 300',
    ],
  );

  const { routes: [route] } = limited(limit);
  const changed = {
    ...limited(limit),
    routes: [{ ...route, hostnames: ["a"] }],
  };
  await replaceFile(gateway.file, configFor(gateway.port, changed));
  await gateway.log.next(/Configuration applied/);
  assert.deepEqual(statuses(await sendMany(gateway.port, 1)), {
    429: CONNECTIONS,
  });
});

Deno.test("a request that one of two limits rejects is charged to none", async () => {
  await using gateway = await GatewayProcess.start({
    config: limited({
      local: [
        { requests: 40, unit: "Hours" },
        { requests: 5, unit: "Hours", key: "request.headers['x-user']" },
      ],
    }),
  });

  const users = await sendMany(
    gateway.port,
    12,
    (request) => `x-user: user-${request % 3}\r\n`,
  );

  assert.deepEqual(statuses(users), { 200: 15, 429: 12 * CONNECTIONS - 15 });
  const [all, keyed] = await readBudgets(gateway);
  assert.equal(all.remaining, 25);
  assert.deepEqual([keyed.keys, keyed.remaining], [3, 0]);
});

Deno.test("tokens that one worker learns of are charged for all", async () => {
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(
        answer(JSON.stringify({ usage }), "content-type: application/json"),
      );
    }
  });
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{
        name: "chat",
        policies: { rateLimit: { local: [{ tokens: 100, unit: "Hours" }] } },
        backends: [{ host: `127.0.0.1:${upstream.port}` }],
      }],
    },
  });

  const results: number[] = [];
  for (let request = 0; request < CONNECTIONS; request++) {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "a", messages: [] }),
      headers: { "content-type": "application/json", connection: "close" },
    });
    await response.text();
    results.push(response.status);
    await chargedTokens(gateway, 30 * Math.min(4, results.length));
  }

  assert.deepEqual(results.slice(0, 4), [200, 200, 200, 200]);
  assert.deepEqual(new Set(results.slice(4)), new Set([429]));
});

Deno.test("a limit over Deno KV has one share for all workers, also in memory", async () => {
  const global = {
    domain: "d",
    store: "KV",
    // A busy machine must not make the store seem to be away.
    timeout: "10s",
    descriptors: [byUser({ requests: 20 })],
  };
  await using gateway = await GatewayProcess.start({
    config: limited({ global }, { kv: { path: ":memory:" } }),
  });

  const responses = await sendMany(gateway.port, 10, () => "x-user: anna\r\n");

  assert.deepEqual(
    statuses(responses),
    { 200: 20, 429: 10 * CONNECTIONS - 20 },
  );
  const [budget, ...others] = await readBudgets(gateway);
  assert.deepEqual(others, []);
  assert.equal(budget.remaining, 0);
  assert.deepEqual(
    await readMetric(gateway, "gateway_rate_limit_shared_requests_total"),
    [
      '{store="KV",domain="d",result="admitted"} 20',
      '{store="KV",domain="d",result="refused"} 140',
      '{store="KV",domain="d",result="failed"} 0',
    ],
  );
});

Deno.test("connections of all workers count against the limits of a port and of a client", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{
        name: "all",
        policies: { directResponse: { status: 200, body: "ok" } },
      }],
    },
    listener: { maxConnections: 20, maxConnectionsPerAddress: 12 },
  });
  using open = new DisposableStack();
  const admitted: boolean[] = [];
  for (let attempt = 0; attempt < 20; attempt++) {
    const client = open.use(disposable(await connectRaw(gateway.port)));
    await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    admitted.push(await client.request().then(() => true, () => false));
  }
  const { stores } = await (await fetch(`${gateway.admin}/memory`)).json();

  assert.equal(admitted.filter((isAdmitted) => isAdmitted).length, 12);
  const { used, capacity } = stores.find(({ name }: { name: string }) =>
    name === "clientConnections"
  );
  assert.deepEqual({ used, capacity }, { used: 12, capacity: 20 });
});

Deno.test("all workers together open no more connections to a backend than it allows", async () => {
  const maxConnections = 4;
  const full = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  await using upstream = new RawUpstream(async (connection) => {
    open++;
    most = Math.max(most, open);
    try {
      for (;;) {
        await connection.request();
        if (open === maxConnections) full.resolve();
        await full.promise;
        await connection.send(answer());
      }
    } finally {
      open--;
    }
  });
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{
        name: "all",
        backends: [{ backend: "weak" }],
      }],
      backends: [{
        name: "weak",
        static: { host: "127.0.0.1", port: upstream.port },
        limits: { maxConnections },
      }],
    },
  });

  const responses = await sendMany(gateway.port, 10);

  assert.deepEqual(statuses(responses), { 200: 10 * CONNECTIONS });
  assert.equal(most, maxConnections);
});
