import assert from "node:assert/strict";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

const limited = "HTTP/1.1 429 Slow down\r\nRetry-After: 60\r\n" +
  "Content-Length: 4\r\n\r\nslow";
const broken = "HTTP/1.1 500 Broken\r\nContent-Length: 6\r\n\r\nbroken";
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
  "Transfer-Encoding: chunked\r\n\r\n";

/** An upstream that answers every request like `answerOf`, and remembers the requests. */
function upstream(
  answerOf: (connection: RawConnection, request: string) => Promise<void>,
): RawUpstream & { readonly requests: string[] } {
  const requests: string[] = [];
  const created = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      requests.push(request);
      await answerOf(connection, request);
    }
  });
  return Object.assign(created, { requests });
}

function well() {
  return upstream((connection) => connection.send(answer("well")));
}

function routeTo(
  ports: readonly number[],
  more: Readonly<Record<string, unknown>> = {},
) {
  return {
    routes: [{
      backends: ports.map((_, priority) => ({
        backend: `provider${priority}`,
        priority,
      })),
      ...more,
    }],
    backends: ports.map((port, index) => ({
      name: `provider${index}`,
      static: { host: "127.0.0.1", port },
    })),
  };
}

const failures: readonly (readonly [
  name: string,
  reason: string,
  answerOf: (connection: RawConnection) => Promise<void>,
])[] = [
  ["429", "429", (connection) => connection.send(limited)],
  ["5xx", "500", (connection) => connection.send(broken)],
  ["a closed connection", "upstream_closed", async (connection) => {
    await Promise.resolve();
    connection.close();
  }],
  [
    "a stream that ends before its first event",
    "upstream_closed",
    async (connection) => {
      await connection.send(streamHead);
      connection.close();
    },
  ],
  [
    "a stream without events",
    "upstream_closed",
    (connection) => connection.send(`${streamHead}0\r\n\r\n`),
  ],
  [
    "a stream that begins with an error",
    "upstream_protocol_error",
    (connection) =>
      connection.send(
        `${streamHead}1d\r\nevent: error\ndata: overload\n\n\r\n0\r\n\r\n`,
      ),
  ],
];

for (const [name, reason, answerOf] of failures) {
  Deno.test(`a POST goes to the next priority after ${name}`, async () => {
    await using first = upstream(answerOf);
    await using second = well();
    await using gateway = await startTestGateway(
      routeTo([first.port, second.port]),
    );

    const response = await fetch(gateway.origin, {
      method: "POST",
      body: "question",
    });

    assert.equal(await response.text(), "well");
    assert.equal(
      response.headers.get("x-gateway-failover"),
      `provider0=${reason}`,
    );
    assert.match(second.requests[0] ?? "", /question$/);
    const [line = ""] = gateway.accessLog;
    assert.match(line, / backend=provider1 /);
    assert(line.includes(` failover="provider0=${reason}" `), line);
    const metrics = await gateway.gateway.dataPlane.call(
      "collectMetrics",
      new Set(["gateway_failovers_total"]),
    );
    assert(
      metrics.includes(
        `gateway_failovers_total{backend="provider0",reason="${reason}"} 1`,
      ),
      metrics,
    );
  });
}

Deno.test("a request goes to the next priority when no connection can be opened", async () => {
  await using second = well();
  await using gateway = await startTestGateway(
    routeTo([freePort(), second.port]),
  );

  assert.equal(await (await fetch(gateway.origin)).text(), "well");
});

Deno.test("a request goes to the next priority after a time-out", async () => {
  const clock = new FakeClock();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  await using first = upstream(() => Promise.resolve(asked()));
  await using second = well();
  await using gateway = await startTestGateway(
    routeTo([first.port, second.port], {
      timeouts: { backendRequest: "10s" },
    }),
    {},
    [],
    { clock },
  );
  const pending = fetch(gateway.origin, { method: "POST", body: "question" });
  await isAsked;

  clock.advance(10_000);

  assert.equal(await (await pending).text(), "well");
});

Deno.test("a backend that limits requests gets none for as long as it says", async () => {
  const clock = new FakeClock();
  await using first = upstream((connection) => connection.send(limited));
  await using second = well();
  await using gateway = await startTestGateway(
    routeTo([first.port, second.port]),
    {},
    [],
    { clock },
  );

  for (let i = 0; i < 5; i++) await (await fetch(gateway.origin)).text();
  assert.deepEqual([first.requests.length, second.requests.length], [1, 5]);
  clock.advance(60_000);
  await (await fetch(gateway.origin)).text();

  assert.deepEqual([first.requests.length, second.requests.length], [2, 6]);
});

Deno.test("the rest of a backend is shown, and why it got no request", async () => {
  const clock = new FakeClock();
  await using first = upstream((connection) => connection.send(limited));
  await using second = well();
  await using gateway = await startTracedGateway(
    routeTo([first.port, second.port]),
    { clock },
  );
  await (await fetch(gateway.origin)).text();
  const events = eventsOf(await gateway.watch());
  await (await fetch(gateway.origin)).text();

  const { dataPlane } = gateway.gateway;
  const { cooldowns } = await dataPlane.call("tasks", 0);
  assert.deepEqual(cooldowns, [{
    backend: "default/provider0",
    until: "2026-01-01T00:01:00.000Z",
    failures: 1,
    reason: "429",
  }]);
  const metrics = await dataPlane.call(
    "collectMetrics",
    new Set(["gateway_backend_cooldown_seconds"]),
  );
  assert(
    metrics.includes(
      'gateway_backend_cooldown_seconds{backend="provider0",model=""} 60',
    ),
    metrics,
  );
  const traced = (await events).flatMap(({ message }) =>
    message.type === "policyEvent" ? [[message.kind, message.details]] : []
  );
  assert.deepEqual(traced, [["failover", {
    to: "default/provider1",
    restsUntil: { "default/provider0": "2026-01-01T00:01:00.000Z" },
  }]]);

  const dump = await (await fetch(`${gateway.admin}/config_dump`)).json();
  assert.deepEqual(dump.cooldowns, cooldowns);
  clock.advance(60_000);
  assert.deepEqual((await dataPlane.call("tasks", 0)).cooldowns, []);
});

Deno.test("explain names the backends that were not tried, because they rest", async () => {
  const clock = new FakeClock();
  await using first = upstream((connection) => connection.send(limited));
  await using second = upstream((connection) => connection.send(limited));
  await using gateway = await startTracedGateway(
    routeTo([first.port, second.port]),
    { clock },
  );
  const causeOf = async (response: Response) => {
    await response.text();
    const id = response.headers.get("x-request-id");
    const report = await fetch(`${gateway.admin}/debug/requests/${id}`);
    return (await report.json()).cause;
  };

  const both = await causeOf(await fetch(gateway.origin));
  const one = await causeOf(await fetch(gateway.origin));

  assert.doesNotMatch(both, /Not tried/);
  assert.match(
    one,
    /Not tried, because they rest after failures: default\/provider[01]\.$/,
  );
});

Deno.test("a stream stays with its backend after the first event", async () => {
  await using first = upstream(async (connection) => {
    await connection.send(`${streamHead}f\r\ndata: started\n\n\r\n`);
    connection.close();
  });
  await using second = well();
  await using gateway = await startTestGateway(
    routeTo([first.port, second.port]),
  );

  const response = await fetch(gateway.origin);
  const reader = response.body?.getReader();
  const { value } = await reader?.read() ?? {};

  assert.equal(new TextDecoder().decode(value), "data: started\n\n");
  await assert.rejects(async () => await reader?.read());
  assert.equal(second.requests.length, 0);
});

Deno.test("the client gets the last response when every backend fails", async () => {
  await using first = upstream((connection) => connection.send(limited));
  await using second = upstream((connection) => connection.send(broken));
  await using gateway = await startTestGateway(
    routeTo([first.port, second.port]),
  );

  const response = await fetch(gateway.origin);

  assert.deepEqual([response.status, await response.text()], [500, "broken"]);
  assert.equal(response.headers.get("x-gateway-failover"), "provider0=429");
});

Deno.test("other responses, such as 400, are final", async () => {
  await using first = upstream((connection) =>
    connection.send("HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad")
  );
  await using second = well();
  await using gateway = await startTestGateway(
    routeTo([first.port, second.port]),
  );

  const response = await fetch(gateway.origin);

  assert.equal(await response.text(), "bad");
  assert.equal(response.headers.has("x-gateway-failover"), false);
  assert.equal(second.requests.length, 0);
});

Deno.test("each backend gets the request as its own filters make it", async () => {
  await using first = upstream((connection) => connection.send(broken));
  await using second = well();
  const config = routeTo([first.port, second.port]);
  const backends = config.routes[0]?.backends.map((each) => ({
    ...each,
    filters: [{
      type: "RequestHeaderModifier",
      requestHeaderModifier: {
        add: [{ name: "x-for", value: each.backend }],
      },
    }, {
      type: "ResponseHeaderModifier",
      responseHeaderModifier: {
        add: [{ name: "x-from", value: each.backend }],
      },
    }],
  }));
  await using gateway = await startTestGateway({
    ...config,
    routes: [{ backends }],
  });

  const response = await fetch(gateway.origin);
  await response.body?.cancel();

  assert.match(first.requests[0] ?? "", /^x-for: provider0\r$/mi);
  assert.match(second.requests[0] ?? "", /^x-for: provider1\r$/mi);
  assert.equal(
    second.requests[0]?.match(/^x-forwarded-for: .*$/gmi)?.[0],
    first.requests[0]?.match(/^x-forwarded-for: .*$/gmi)?.[0],
  );
  assert.equal(response.headers.get("x-from"), "provider1");
});
