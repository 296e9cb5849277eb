import assert from "node:assert/strict";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { NodeUpstream } from "../../harness/servers/node_upstreams.ts";
import { startReloadableGateway } from "../../harness/gateway/reloadable_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";

/** An upstream that answers every request with `text`. */
function saying(text: string): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer(text));
    }
  });
}

function backend(
  ports: readonly number[],
  more: Readonly<Record<string, unknown>> = {},
) {
  const endpoints = ports.map((port) => ({ host: "127.0.0.1", port }));
  return {
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{ name: "fleet", endpoints, ...more }],
  };
}

/** Sends requests one after the other; returns how often each text came back. */
async function countResponses(
  origin: string,
  times: number,
  init?: RequestInit,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const response = await fetch(origin, init);
    const text = `${response.status} ${await response.text()}`;
    counts[text] = (counts[text] ?? 0) + 1;
  }
  return counts;
}

Deno.test("requests are spread over all endpoints of a backend", async () => {
  await using one = saying("one");
  await using two = saying("two");
  await using gateway = await startTestGateway(
    backend([one.port, two.port], { loadBalancing: { policy: "RoundRobin" } }),
  );

  const counts = await countResponses(gateway.origin, 40);

  assert.deepEqual(counts, { "200 one": 20, "200 two": 20 });
});

for (const method of ["GET", "POST"]) {
  Deno.test(`no ${method} fails when one of two endpoints refuses connections`, async () => {
    await using alive = saying("alive");
    await using gateway = await startTestGateway(
      backend([freePort(), alive.port]),
    );

    const counts = await countResponses(gateway.origin, 40, {
      method,
      ...(method === "POST" && { body: "x".repeat(100_000) }),
    });

    assert.deepEqual(counts, { "200 alive": 40 });
    const lines = gateway.accessLog;
    for (const line of lines) assert.match(line, new RegExp(`:${alive.port} `));
    const retried = lines.filter((line) => line.includes("retry.attempt=1"));
    // Two failures eject the endpoint.
    assert.equal(retried.length, 2);
  });
}

for (const [method, failed] of [["GET", 0], ["POST", 5]] as const) {
  Deno.test(`of two endpoints, one closes each connection: ${failed} times a ${method} fails`, async () => {
    await using closing = new RawUpstream(async (connection) => {
      await connection.request();
    });
    await using alive = saying("alive");
    await using gateway = await startTestGateway(
      backend([closing.port, alive.port]),
    );

    const counts = await countResponses(gateway.origin, 40, {
      method,
      ...(method === "POST" && { body: "x" }),
    });

    assert.equal(counts["200 alive"], 40 - failed);
    // Five errors in a row eject the endpoint.
    assert.equal(closing.accepted, 5);
  });
}

Deno.test("a retry goes to another endpoint", async () => {
  await using busy = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(
        "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
      );
    }
  });
  await using free = saying("free");
  const config = backend([busy.port, free.port], { ejection: { errors: 0 } });
  await using gateway = await startTestGateway({
    ...config,
    routes: [{
      backends: [{ backend: "fleet" }],
      retry: { attempts: 1, codes: [503], backoff: "1ms" },
    }],
  });

  assert.deepEqual(await countResponses(gateway.origin, 40), {
    "200 free": 40,
  });
});

Deno.test("an endpoint that is removed by a reload finishes its requests", async () => {
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<
    void
  >();
  await using slow = new RawUpstream(async (connection) => {
    await connection.request();
    asked();
    await mayAnswer;
    await connection.send(answer("late"));
  });
  await using other = saying("other");
  await using gateway = await startReloadableGateway([
    backend([slow.port]),
  ]);
  const pending = fetch(gateway.origin);
  await isAsked;

  await gateway.reload([backend([other.port])]);
  answerNow();

  assert.equal(await (await pending).text(), "late");
  assert.equal(await (await fetch(gateway.origin)).text(), "other");
});

Deno.test("metrics and /config_dump show the health of endpoints", async () => {
  await using alive = saying("alive");
  const dead = freePort();
  await using gateway = await startTestGateway(backend([dead, alive.port]));
  await countResponses(gateway.origin, 40);

  const { dataPlane } = gateway.gateway;
  const metrics = await dataPlane.call("collectMetrics");
  const { upstreams } = await dataPlane.call("tasks", 0);

  assert.deepEqual(
    metrics.split("\n").filter((line) => line.startsWith("gateway_backend_")),
    [
      'gateway_backend_endpoints{backend="fleet",state="ejected"} 1',
      'gateway_backend_endpoints{backend="fleet",state="healthy"} 1',
      'gateway_backend_ejections_total{backend="fleet",reason="connect_failures"} 1',
      'gateway_backend_ejections_total{backend="fleet",reason="errors"} 0',
      'gateway_backend_ejections_total{backend="fleet",reason="latency"} 0',
      'gateway_backend_ejections_total{backend="fleet",reason="limited"} 0',
      'gateway_backend_ejections_total{backend="fleet",reason="silence"} 0',
    ],
  );
  assert.deepEqual(
    upstreams.map(({ endpoint, backends, health, requests, ejections }) => ({
      endpoint,
      backends,
      health,
      requests,
      ejections,
    })),
    [
      {
        endpoint: `127.0.0.1:${dead}`,
        backends: ["default/fleet"],
        health: "ejected",
        requests: 2,
        ejections: 1,
      },
      {
        endpoint: `127.0.0.1:${alive.port}`,
        backends: ["default/fleet"],
        health: "healthy",
        requests: 40,
        ejections: 0,
      },
    ],
  );
});

Deno.test("a POST is not lost on a connection that the backend has closed while it was idle", async () => {
  const clock = new FakeClock();
  const closed = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection, index) => {
    await connection.request();
    await connection.send(answer(`connection ${index}`));
    if (index > 0) return;
    await closed.promise;
  });
  await using gateway = await startTestGateway(
    backend([upstream.port]),
    {},
    [],
    { clock },
  );
  await (await fetch(gateway.origin)).text();
  clock.advance(1000);
  // The gateway sees the end of the connection no sooner than the next request.
  closed.resolve();

  const response = await fetch(gateway.origin, { method: "POST", body: "x" });

  assert.equal(await response.text(), "connection 1");
});

Deno.test("retry.on repeats a POST after a closed connection", async () => {
  await using upstream = new RawUpstream(async (connection, index) => {
    await connection.request();
    if (index > 0) await connection.send(answer("second"));
  });
  await using gateway = await startTestGateway({
    ...backend([upstream.port]),
    routes: [{
      backends: [{ backend: "fleet" }],
      retry: { attempts: 1, on: ["Closed"], backoff: "1ms" },
    }],
  });

  const response = await fetch(gateway.origin, { method: "POST", body: "x" });

  assert.equal(await response.text(), "second");
});

for (const on of [["Timeout"], ["Closed"]]) {
  Deno.test(`retry.on ${on.join()}: a POST after a time-out`, async () => {
    const clock = new FakeClock();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await using hung = new RawUpstream(async (connection) => {
      await connection.request();
      asked();
      await connection.closedByPeer();
    });
    await using alive = saying("alive");
    const config = backend([hung.port, alive.port], {
      loadBalancing: { policy: "ConsistentHash", hashHeader: "x-user" },
    });
    await using gateway = await startTestGateway(
      {
        ...config,
        routes: [{
          backends: [{ backend: "fleet" }],
          timeouts: { backendRequest: "5s" },
          retry: { attempts: 1, on, backoff: "1ms" },
        }],
      },
      {},
      [],
      { clock },
    );
    // Users until one is sent to the endpoint that hangs.
    let isOver = false;
    void isAsked.then(() => isOver = true);
    let last: Promise<Response> | undefined;
    for (let user = 0; !isOver; user++) {
      const headers = { "x-user": String(user) };
      last = fetch(gateway.origin, { method: "POST", body: "x", headers });
      const text = last.then((response) => response.clone().text());
      await Promise.race([isAsked, text]);
    }

    // Fires the time-out, then the pause before the second attempt.
    while (clock.monotonic() < 6000) {
      clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve));
    }

    const response = await last;
    assert.equal(response?.status, on.includes("Timeout") ? 200 : 504);
    await response?.text();
  });
}

Deno.test("a response has ten minutes to begin, an event stream any time", async () => {
  const clock = new FakeClock();
  const arrivals = [0, 1].map(() => Promise.withResolvers<void>());
  const mayAnswer = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection, index) => {
    await connection.request();
    arrivals[index]?.resolve();
    await mayAnswer.promise;
    await connection.send(answer("late"));
  });
  await using gateway = await startTestGateway(
    backend([upstream.port]),
    {},
    [],
    { clock },
  );
  const plain = fetch(gateway.origin);
  await arrivals[0]?.promise;
  const stream = fetch(gateway.origin, {
    headers: { accept: "text/event-stream" },
  });
  await arrivals[1]?.promise;

  clock.advance(600_000);

  assert.equal((await plain).status, 504);
  await (await plain).text();
  mayAnswer.resolve();
  assert.equal(await (await stream).text(), "late");
});

Deno.test("ConsistentHash sends the same value of a header to the same endpoint", async () => {
  await using one = saying("one");
  await using two = saying("two");
  await using gateway = await startTestGateway(
    backend([one.port, two.port], {
      loadBalancing: { policy: "ConsistentHash", hashHeader: "X-User" },
    }),
  );

  const seen = new Set<string>();
  for (let user = 0; user < 20; user++) {
    const headers = { "x-user": `user ${user}` };
    const counts = await countResponses(gateway.origin, 3, { headers });
    assert.deepEqual(Object.values(counts), [3]);
    for (const text of Object.keys(counts)) seen.add(text);
  }
  assert.equal(seen.size, 2);
});

Deno.test("requests are spread over endpoints with HTTP/2, and none fails when one dies", async () => {
  const counts = { one: 0, two: 0 };
  const start = (name: "one" | "two") =>
    NodeUpstream.http2((stream) => {
      counts[name]++;
      stream.respond({ ":status": 200 });
      stream.end(name);
    });
  await using two = await start("two");
  const one = await start("one");
  await using gateway = await startTestGateway(
    backend([one.port, two.port], {
      protocol: "HTTP2",
      loadBalancing: { policy: "RoundRobin" },
    }),
  );
  const init = { method: "POST", body: "x" };
  assert.deepEqual(await countResponses(gateway.origin, 20, init), {
    "200 one": 10,
    "200 two": 10,
  });

  await one[Symbol.asyncDispose]();

  assert.deepEqual(await countResponses(gateway.origin, 20, init), {
    "200 two": 20,
  });
});
