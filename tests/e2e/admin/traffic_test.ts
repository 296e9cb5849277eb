import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

function hostOf({ port }: RawUpstream): string {
  return `127.0.0.1:${port}`;
}

/** An upstream that answers every request with the same text. */
function upstreamThatSays(text: string): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer(text));
    }
  });
}

/** An upstream that does the next thing of the list with each request, whatever its connection. */
function upstreamThatDoes(
  ...steps: ((connection: RawConnection, request: string) => Promise<void>)[]
): RawUpstream & { readonly requests: string[] } {
  const requests: string[] = [];
  const upstream = new RawUpstream(async (connection) => {
    const request = await connection.request();
    requests.push(request);
    await steps[requests.length - 1]?.(connection, request);
  });
  return Object.assign(upstream, { requests });
}

function backendRef(name: string) {
  return { group: POLICY_API_GROUP, kind: "GatewayBackend", name };
}

const unavailable =
  "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbusy";

Deno.test("gateway retries on a status that the route names and sends the same body", async () => {
  await using upstream = upstreamThatDoes(
    (connection) => connection.send(unavailable),
    (connection) => connection.send(answer("good", "Connection: close")),
  );
  await using gateway = await startTestGateway({
    routes: [{
      retry: { attempts: 2, codes: [503], backoff: "1ms" },
      backends: [{ host: hostOf(upstream) }],
    }],
  });

  const response = await fetch(gateway.origin, { method: "POST", body: "abc" });

  assert.equal(await response.text(), "good");
  assert.deepEqual(
    upstream.requests.map((request) => request.slice(-3)),
    ["abc", "abc"],
  );
});

Deno.test("gateway forwards the last response when every attempt failed", async () => {
  await using upstream = upstreamThatDoes(
    (connection) => connection.send(unavailable),
    (connection) => connection.send(unavailable),
    (connection) => connection.send(answer("too late")),
  );
  await using gateway = await startTestGateway({
    routes: [{
      retry: { attempts: 1, codes: [503], backoff: "1ms" },
      backends: [{ host: hostOf(upstream) }],
    }],
  });

  const response = await fetch(gateway.origin);

  assert.equal(response.status, 503);
  assert.equal(await response.text(), "busy");
  assert.equal(upstream.requests.length, 2);
});

for (
  const { method, tries } of [
    { method: "GET", tries: 2 },
    { method: "POST", tries: 1 },
  ]
) {
  Deno.test(`gateway sends a ${method} ${tries} times when the connection fails before a response`, async () => {
    await using upstream = upstreamThatDoes(
      () => Promise.resolve(),
      (connection) => connection.send(answer("good", "Connection: close")),
    );
    await using gateway = await startTestGateway({
      routes: [{
        retry: { attempts: 3, backoff: "1ms" },
        backends: [{ host: hostOf(upstream) }],
      }],
    });

    const response = await fetch(gateway.origin, { method });
    await response.body?.cancel();

    assert.equal(upstream.requests.length, tries);
  });
}

for (const timeouts of [{ request: "30ms" }, { backendRequest: "30ms" }]) {
  const [field] = Object.keys(timeouts);
  Deno.test(`gateway returns 504 after timeouts.${field} and drops the upstream`, async () => {
    const asked = Promise.withResolvers<void>();
    const dropped = Promise.withResolvers<void>();
    await using upstream = new RawUpstream(async (connection) => {
      await connection.request();
      asked.resolve();
      await connection.closedByPeer();
      dropped.resolve();
    });
    const clock = new FakeClock();
    const routes = [{ timeouts, backends: [{ host: hostOf(upstream) }] }];
    await using gateway = await startTestGateway({ routes }, {}, [], { clock });

    const answered = fetch(gateway.origin);
    await asked.promise;
    clock.advance(30);
    const response = await answered;
    await response.body?.cancel();

    assert.equal(response.status, 504);
    await dropped.promise;
  });
}

Deno.test("gateway does not end a stream after timeouts.request once it has begun", async () => {
  const late = Promise.withResolvers<void>();
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\n\r\nfirst ");
    await late.promise;
    await connection.send("second");
  });
  const clock = new FakeClock();
  const timeouts = { request: "40ms" };
  const routes = [{ timeouts, backends: [{ host: hostOf(upstream) }] }];
  await using gateway = await startTestGateway({ routes }, {}, [], { clock });

  const response = await fetch(gateway.origin);
  clock.advance(80);
  late.resolve();

  assert.equal(await response.text(), "first second");
});

Deno.test("gateway mirrors requests with their bodies and drops the response", async () => {
  const mirrored = Promise.withResolvers<string>();
  await using shadow = new RawUpstream(async (connection) => {
    mirrored.resolve(await connection.request());
    await connection.send(answer("from the mirror"));
  });
  await using upstream = upstreamThatSays("from the backend");
  await using gateway = await startTestGateway({
    routes: [{
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: { name: "shadow" } },
      }],
      backends: [{ host: hostOf(upstream) }],
    }],
    backends: [{
      name: "shadow",
      static: { host: "127.0.0.1", port: shadow.port },
    }],
  });

  const response = await fetch(`${gateway.origin}/x?y`, {
    method: "POST",
    body: "payload",
  });

  assert.equal(await response.text(), "from the backend");
  assert.match(await mirrored.promise, /^POST \/x\?y HTTP\/1\.1\r\n/);
  assert((await mirrored.promise).endsWith("payload"));
});

Deno.test("gateway still responds when the mirror is down", async () => {
  const shadow = upstreamThatSays("");
  await shadow.stop();
  await using upstream = upstreamThatSays("fine");
  await using gateway = await startTestGateway({
    routes: [{
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: { name: "shadow" } },
      }],
      backends: [{ host: hostOf(upstream) }],
    }],
    backends: [{
      name: "shadow",
      static: { host: "127.0.0.1", port: shadow.port },
    }],
  });

  const response = await fetch(gateway.origin);

  assert.equal(await response.text(), "fine");
});

Deno.test("gateway shares requests by weight", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  await using gateway = await startTestGateway({
    routes: [{
      backends: [
        { host: hostOf(one), weight: 6 },
        { host: hostOf(two), weight: 3 },
        { host: hostOf(two), weight: 0 },
      ],
    }],
  });

  const counts = { one: 0, two: 0 };
  for (let i = 0; i < 600; i++) {
    const text = await (await fetch(gateway.origin)).text();
    if (text === "one" || text === "two") counts[text]++;
  }

  assert.equal(counts.one + counts.two, 600);
  // Six sigma around 400 of 600.
  assert(counts.one > 330 && counts.one < 470, `one got ${counts.one}`);
});

Deno.test("gateway returns 500 for the share of a backend that does not resolve", async () => {
  await using upstream = upstreamThatSays("fine");
  await using gateway = await startTestGateway(
    {
      backends: [{
        name: "real",
        static: { host: "127.0.0.1", port: upstream.port },
      }],
    },
    {},
    [{
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "split" },
      spec: {
        parentRefs: [{ name: "default" }],
        rules: [{
          backendRefs: [backendRef("real"), backendRef("missing")],
        }],
      },
    }],
  );

  const counts = new Map<number, number>();
  for (let i = 0; i < 300; i++) {
    const { status, body } = await fetch(gateway.origin);
    await body?.cancel();
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }

  assert.deepEqual([...counts.keys()].sort(), [200, 500]);
  // Six sigma around 150 of 300.
  assert(Math.abs((counts.get(500) ?? 0) - 150) < 52);
  assert.match(gateway.log.join(""), /missing/);
});

Deno.test("gateway decorates its own errors with CORS headers", async () => {
  const upstream = upstreamThatSays("");
  await upstream.stop();
  await using gateway = await startTestGateway({
    routes: [{
      filters: [{
        type: "CORS",
        cors: {
          allowOrigins: ["https://app.example.com"],
          exposeHeaders: ["Mcp-Session-Id"],
        },
      }],
      backends: [{ host: hostOf(upstream) }],
    }],
  });

  const response = await fetch(gateway.origin, {
    headers: { origin: "https://app.example.com" },
  });
  await response.body?.cancel();

  assert.equal(response.status, 503);
  const { headers } = response;
  assert.equal(
    headers.get("access-control-allow-origin"),
    "https://app.example.com",
  );
  assert.equal(headers.get("access-control-expose-headers"), "Mcp-Session-Id");
  assert.match(headers.get("vary") ?? "", /Origin/);
});

Deno.test("gateway returns 404 without a matching route or listener", async () => {
  await using upstream = upstreamThatSays("ok");
  await using gateway = await startTestGateway({
    routes: [{
      matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
      backends: [{ host: hostOf(upstream) }],
    }],
  });

  const inside = await fetch(`${gateway.origin}/mcp/x`);
  const outside = await fetch(`${gateway.origin}/mcpx`);

  assert.equal(await inside.text(), "ok");
  assert.equal(outside.status, 404);
  assert.equal(await outside.text(), "route not found");
});

Deno.test("gateway rewrites and redirects by filters", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      const request = await connection.request();
      await connection.send(answer(request.split("\r\n")[0]));
    }
  });
  await using gateway = await startTestGateway({
    routes: [
      {
        name: "rewrite",
        matches: [{ path: { type: "PathPrefix", value: "/old" } }],
        filters: [{
          type: "URLRewrite",
          urlRewrite: {
            path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" },
          },
        }],
        backends: [{ host: hostOf(upstream) }],
      },
      {
        name: "redirect",
        matches: [{ path: { type: "Exact", value: "/go" } }],
        filters: [{
          type: "RequestRedirect",
          requestRedirect: { scheme: "https", hostname: "example.com" },
        }],
      },
    ],
  });

  const rewritten = await fetch(`${gateway.origin}/old/a?b=c`);
  const redirected = await fetch(`${gateway.origin}/go?x=1`, {
    redirect: "manual",
  });
  await redirected.body?.cancel();

  assert.equal(await rewritten.text(), "GET /new/a?b=c HTTP/1.1");
  assert.equal(redirected.status, 302);
  assert.equal(
    redirected.headers.get("location"),
    "https://example.com/go?x=1",
  );
});
