/** Limits of requests in progress. */
import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { HeldUpstream, until } from "../../harness/servers/held_upstream.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";
import { breakWorker } from "../../harness/gateway/worker_faults.ts";

const policies = {
  rateLimit: {
    local: [{
      concurrentRequests: 3,
      key: "request.headers['x-user']",
    }],
  },
};

/** Sends a POST on a connection of its own. */
async function post(
  origin: string,
  { user = "anna", signal }: { user?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(origin, {
    client,
    method: "POST",
    headers: { "x-user": user },
    body: "{}",
    ...(signal && { signal }),
  });
  return new Response(await response.text(), response);
}

async function heldOf({ gateway }: { readonly gateway: Gateway }) {
  const { budgets } = await gateway.dataPlane.call("describe");
  const [{ held, remaining, limit } = assert.fail()] = budgets;
  return { held, remaining, limit };
}

const variants = [{ workers: 1 }, { workers: 2 }];

for (const { workers } of variants) {
  const how = `with ${workers} worker${workers > 1 ? "s" : ""}`;
  Deno.test(`a key has at most its number of requests in progress, ${how}`, async () => {
    await using upstream = await HeldUpstream.start();
    await using gateway = await startTestGateway({
      config: { workers },
      routes: [{ name: "r", policies, backends: upstream.backends }],
    });

    const responses = Array.from({ length: 12 }, () => post(gateway.origin));
    const rejected: Response[] = [];
    for (const each of responses) {
      void each.then((response) =>
        response.status === 429 && rejected.push(response)
      );
    }
    await until(() => rejected.length === 9 && upstream.waiting.length === 3);
    const [first] = rejected;
    assert.match(
      await first?.text() ?? "",
      /^rate limit exceeded: the limit admits at most 3 requests at a time$/,
    );
    assert.equal(first?.headers.get("retry-after"), "1");
    assert.deepEqual(await heldOf(gateway), {
      held: 3,
      remaining: 0,
      limit: 3,
    });
    const other = post(gateway.origin, { user: "otto" });
    await until(() => upstream.waiting.length === 4);

    upstream.respond(200, "{}");
    assert.equal((await other).status, 200);
    await Promise.all(responses);
    await until(async () => (await heldOf(gateway)).held === 0);
    const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
    assert.match(
      metrics,
      /gateway_rate_limit_requests_total\{.*3 concurrent requests, by request\.headers.*result="admitted"\} 4/,
    );
  });

  Deno.test(`a place is free again exactly once after every kind of end, ${how}`, async () => {
    await using upstream = await HeldUpstream.start();
    await using gateway = await startTestGateway({
      config: { workers },
      routes: [{
        name: "r",
        policies: {
          ...policies,
          authorization: {
            policy: { matchExpressions: ["request.path != '/denied'"] },
          },
        },
        backends: upstream.backends,
      }],
    });
    const { origin } = gateway;

    for (let round = 0; round < 5; round++) {
      const [answered, failing] = [post(origin), post(origin)];
      await until(() => upstream.waiting.length === 2);
      upstream.waiting.pop()?.destroy();
      upstream.respond(200, "{}");
      const statuses = [(await answered).status, (await failing).status];
      assert.deepEqual(statuses.toSorted(), [200, 502]);

      const early = new AbortController();
      const late = new AbortController();
      const leaving = post(origin, { signal: early.signal });
      await until(() => upstream.waiting.length === 1);
      const streaming = post(origin, { signal: late.signal });
      await until(() => upstream.waiting.length === 2);
      upstream.waiting[1]?.writeHead(200).write("data: 1\n\n");
      early.abort();
      late.abort();
      await assert.rejects(leaving);
      await assert.rejects(streaming);
      upstream.waiting.splice(0);
      await until(async () => (await heldOf(gateway)).held === 0);
    }
    const denied = await fetchRaw(`${origin}/denied`, {
      headers: { "x-user": "anna" },
    });
    assert.equal(denied.status, 403);

    const all = Array.from({ length: 4 }, () => post(origin));
    await until(() => upstream.waiting.length === 3);
    upstream.respond(200, "{}");
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [200, 200, 200, 429]);
  });
}

Deno.test("a worker that ends gives its places back", async () => {
  await using upstream = await HeldUpstream.start();
  const port = freePort();
  const log = new LogLines();
  const gateway = await Gateway.start({
    config: textSource(JSON.stringify({
      gateways: { default: { port, address: "127.0.0.1" } },
      config: { workers: 2 },
      routes: [{ name: "r", policies, backends: upstream.backends }],
    })),
    writeLog: (line) => log.add(line.trimEnd()),
    workers: {
      entry: new URL("../../harness/gateway/faulty_worker.ts", import.meta.url),
      onLost: () => {},
      writeLog: () => Promise.resolve(),
      writeAccessLog: () => Promise.resolve(),
    },
  });
  await using _stop = { [Symbol.asyncDispose]: () => gateway.stop(0) };
  const origin = `http://127.0.0.1:${port}`;
  const held = Array.from({ length: 3 }, () => post(origin));
  for (const each of held) each.catch(() => {});
  await until(() => upstream.waiting.length === 3);
  assert.equal((await post(origin)).status, 429);

  breakWorker(1, "exit");
  breakWorker(2, "exit");

  for (const each of held) await assert.rejects(each);
  upstream.waiting.splice(0);
  await log.next(/Worker replaced/);
  await log.next(/Worker replaced/);
  await until(async () => (await heldOf({ gateway })).held === 0);
  const again = post(origin);
  await until(() => upstream.waiting.length === 1);
  upstream.respond(200, "{}");
  assert.equal((await again).status, 200);
});

Deno.test("fields that have no meaning for a limit without windows are rejected", async () => {
  const start = (limit: Readonly<Record<string, unknown>>) =>
    startTestGateway({
      routes: [{
        name: "r",
        policies: {
          rateLimit: { local: [limit] },
          directResponse: { status: 200 },
        },
      }],
    });
  await assert.rejects(
    start({ concurrentRequests: 3, unit: "Hours" }),
    /expected no "unit" beside "concurrentRequests"/,
  );
  await assert.rejects(
    start({ concurrentRequests: 3, tokens: 3 }),
    /"tokens" .*"concurrentRequests"/,
  );
  await assert.rejects(
    start({ requests: 3, unit: "Hours", reserve: true }),
    /expected "reserve" with tokens or money only/,
  );
});
