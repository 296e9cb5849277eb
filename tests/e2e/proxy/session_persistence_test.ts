import assert from "node:assert/strict";
import { textSource, validateConfiguration } from "../../../mod.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";

interface Server extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
}

function startServer(name: string): Server {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(name),
  );
  return {
    name,
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A route to backends, each with the endpoints of a list. */
function routeTo(
  backends: readonly {
    readonly servers: readonly Server[];
    readonly [field: string]: unknown;
  }[],
  sessionPersistence: unknown = {},
) {
  return {
    routes: [{
      name: "r",
      backends: backends.map(({ servers: _, ...more }, index) => ({
        backend: `b${index}`,
        ...more,
      })),
      sessionPersistence,
    }],
    backends: backends.map(({ servers }, index) => ({
      name: `b${index}`,
      endpoints: servers.map(({ port }) => ({ host: "127.0.0.1", port })),
      loadBalancing: { policy: "RoundRobin" },
    })),
  };
}

interface Answer {
  readonly text: string;
  /** The `Set-Cookie` field. */
  readonly field: string | null;
  /** The cookie for the next request. */
  readonly cookie: string;
}

async function ask(
  { origin }: TestGateway,
  cookie?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(origin, {
    headers: { ...headers, ...cookie !== undefined && { cookie } },
  });
  const text = await response.text();
  const field = response.headers.get("set-cookie");
  assert.equal(response.status, 200, text);
  return { text, field, cookie: field?.split(";")[0] ?? cookie ?? "" };
}

Deno.test("requests with the cookie stay at one endpoint, also at another gateway", async () => {
  await using one = startServer("one");
  await using two = startServer("two");
  await using three = startServer("three");
  const config = routeTo([{ servers: [one, two, three] }]);
  await using gateway = await startTestGateway(config);
  await using replica = await startTestGateway(config);

  for (let session = 0; session < 4; session++) {
    const first = await ask(gateway);
    assert.match(
      first.field ?? "",
      /^gateway-session-[0-9a-f]{8}=[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    for (let i = 0; i < 6; i++) {
      const next = await ask(i % 2 === 0 ? gateway : replica, first.cookie);
      assert.deepEqual([next.text, next.field], [first.text, null]);
    }
  }
});

Deno.test("a header carries sessions for clients without cookies", async () => {
  await using one = startServer("one");
  await using two = startServer("two");
  await using gateway = await startTestGateway(
    routeTo([{ servers: [one, two] }], {
      type: "Header",
      sessionName: "x-my-session",
    }),
  );
  const first = await fetch(gateway.origin);
  const text = await first.text();
  const session = first.headers.get("x-my-session") ?? "";

  assert.match(session, /^[\w-]{54}$/);
  assert.equal(first.headers.get("set-cookie"), null);
  for (let i = 0; i < 5; i++) {
    const next = await fetch(gateway.origin, {
      headers: { "x-my-session": session },
    });
    assert.equal(await next.text(), text);
    assert.equal(next.headers.get("x-my-session"), null);
  }
});

Deno.test("when an endpoint is gone, its sessions go on at another one with a new cookie", async () => {
  await using servers = new AsyncDisposableStack();
  const all = ["one", "two"].map((name) => servers.use(startServer(name)));
  await using gateway = await startTestGateway(routeTo([{ servers: all }]));
  const before = await ask(gateway);
  const gone = all.find(({ name }) => name === before.text);
  await gone?.[Symbol.asyncDispose]();

  const after = await ask(gateway, before.cookie);

  assert.notEqual(after.text, before.text);
  assert.notEqual(after.cookie, before.cookie);
  assert.equal((await ask(gateway, after.cookie)).text, after.text);
});

Deno.test("a session goes on at a backend that gets no new ones", async () => {
  await using one = startServer("one");
  await using two = startServer("two");
  const [first, second] = [{ servers: [one] }, { servers: [two] }];
  await using before = await startTestGateway(
    routeTo([{ ...first, weight: 1 }, { ...second, weight: 0 }]),
  );
  await using after = await startTestGateway(
    routeTo([{ ...first, weight: 0 }, { ...second, weight: 1 }]),
  );
  const { text, cookie } = await ask(before);
  assert.equal(text, "one");

  const continued = await ask(after, cookie);

  assert.deepEqual([continued.text, continued.field], ["one", null]);
  assert.equal((await ask(after)).text, "two");
});

Deno.test("a session leaves a backend without its endpoint for any other", async () => {
  await using servers = new AsyncDisposableStack();
  const one = servers.use(startServer("one"));
  const two = servers.use(startServer("two"));
  await using before = await startTestGateway(routeTo([{ servers: [one] }]));
  await using after = await startTestGateway(
    routeTo([{ servers: [two], weight: 0 }, { servers: [two] }]),
  );

  const { cookie } = await ask(before);
  const moved = await ask(after, cookie);

  assert.equal(moved.text, "two");
  assert.notEqual(moved.cookie, cookie);
});

Deno.test("cookies of clients over TLS are secure, also behind a trusted proxy", async () => {
  await using server = startServer("one");
  await using gateway = await startTestGateway({
    ...routeTo([{ servers: [server] }]),
    config: { trustedProxies: ["127.0.0.1/32"] },
  });

  const secure = await ask(gateway, undefined, {
    "x-forwarded-proto": "https",
  });

  assert.match(secure.field ?? "", /; Secure$/);
  assert.doesNotMatch((await ask(gateway)).field ?? "", /Secure/);
});

Deno.test("sessions of another secret are new ones", async () => {
  await using server = startServer("one");
  const config = routeTo([{ servers: [server] }]);
  const secretOf = (letter: string) => ({
    ...config,
    config: { sessionSecret: letter.repeat(32) },
  });
  await using one = await startTestGateway(secretOf("a"));
  await using same = await startTestGateway(secretOf("a"));
  await using other = await startTestGateway(secretOf("b"));
  const { cookie } = await ask(one);

  assert.equal((await ask(same, cookie)).field, null);
  assert.match((await ask(other, cookie)).field ?? "", /^gateway-session-/);
});

for (
  const [sessionPersistence, problem] of [
    [
      { type: "Header", cookieConfig: {} },
      /cookieConfig: .*can only be set with type "Cookie"/,
    ],
    [
      { type: "Header", sessionName: "Content-Length" },
      /sessionName: .*a header of HTTP itself cannot carry sessions/,
    ],
    [{ sessionName: "a b" }, /sessionName: .*expected a cookie or header name/],
    [{ absoluteTimeout: "0s" }, /absoluteTimeout: /],
  ] as const
) {
  Deno.test(`${JSON.stringify(sessionPersistence)} is an error`, async () => {
    const { text } = await validateConfiguration(
      textSource(JSON.stringify({
        gateways: { default: { port: 1 } },
        routes: [{ backends: [{ host: "127.0.0.1:9" }], sessionPersistence }],
      })),
      {},
    );

    assert.match(text, problem);
  });
}
