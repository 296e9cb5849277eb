import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startAuthorizerService } from "../../harness/servers/authorizer_service.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A gateway with an authorizer in front of a backend that shows what it gets. */
async function setUp(extAuthz: Fields, policies: Fields = {}) {
  await using opening = new AsyncDisposableStack();
  const upstream = opening.use(await TestServer.start());
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "app",
        policies: { extAuthz: { timeout: "5s", ...extAuthz }, ...policies },
        backends: [{ host: `127.0.0.1:${upstream.port}` }],
      }],
    }),
  );
  const open = opening.move();
  return {
    gateway,
    send: async (path = "/", init: RequestInit = {}) => {
      const response = await fetch(gateway.origin + path, {
        redirect: "manual",
        ...init,
      });
      const { status, headers } = response;
      const text = await response.text();
      const echoed = headers.get("content-type") === "application/json" &&
          status === 200
        ? new Headers(JSON.parse(text).headers)
        : new Headers();
      return { status, headers, text, echoed };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function header(key: string, value: string, more: Fields = {}) {
  return { header: { key, value }, ...more };
}

Deno.test("an authorizer by gRPC sees the request, and changes headers, response and the metadata of rules", async () => {
  await using service = await startAuthorizerService();
  service.reply = () => ({
    status: { code: 0 },
    ok_response: {
      headers: [
        header("x-user", "ada"),
        header("x-list", "b", { append: { value: true } }),
      ],
      headers_to_remove: ["x-secret"],
      response_headers_to_add: [header("x-decided-by", "authorizer")],
    },
    dynamic_metadata: {
      fields: {
        team: { stringValue: "blue" },
        levels: {
          listValue: { values: [{ numberValue: 1 }, { boolValue: true }] },
        },
      },
    },
  });
  await using site = await setUp({
    grpc: {
      host: `127.0.0.1:${service.port}`,
      contextExtensions: { route: "app" },
    },
    headersToBackend: ["x-user", "x-groups"],
    bodyToExtAuth: { maxRequestBytes: 16 },
  }, {
    authorization: {
      policy: {
        matchExpressions: [
          "extAuthz.team == 'blue' && extAuthz.levels[0] == 1.0",
        ],
      },
    },
  });

  const allowed = await site.send("/a?b=c", {
    method: "POST",
    body: "0123456789",
    headers: {
      "x-user": "mallory",
      "x-groups": "admins",
      "x-list": "a",
      "x-secret": "s",
      cookie: "__Host-oidc-abc=1.session; theme=dark",
    },
  });
  const tooLong = await site.send("/", {
    method: "POST",
    body: "0123456789abcdefg",
  });

  const [checked] = service.received;
  assert.equal(allowed.status, 200);
  assert.deepEqual(
    ["x-user", "x-groups", "x-list", "x-secret"].map((name) =>
      allowed.echoed.get(name)
    ),
    ["ada", null, "a, b", null],
  );
  assert.equal(JSON.parse(allowed.text).body, "0123456789");
  assert.equal(allowed.headers.get("x-decided-by"), "authorizer");
  assert.deepEqual(
    [
      checked?.method,
      checked?.path,
      checked?.headers["x-user"],
      checked?.headers["cookie"],
      checked?.context,
      checked?.address,
      new TextDecoder().decode(checked?.raw_body),
    ],
    [
      "POST",
      "/a?b=c",
      undefined,
      "theme=dark",
      { route: "app" },
      "127.0.0.1",
      "0123456789",
    ],
  );
  assert.deepEqual([tooLong.status, service.received.length], [413, 1]);
});

Deno.test("a denied request gets the response of the authorizer by gRPC", async () => {
  await using service = await startAuthorizerService();
  await using site = await setUp({
    grpc: { host: `127.0.0.1:${service.port}` },
  });
  service.reply = () => ({
    status: { code: 16 },
    denied_response: {
      status: { code: 302 },
      headers: [header("location", "https://login.example/")],
      body: "log in",
    },
  });
  const redirected = await site.send();
  service.reply = () => ({ status: { code: 7 } });
  const plain = await site.send();

  assert.deepEqual(
    [redirected.status, redirected.headers.get("location"), redirected.text],
    [302, "https://login.example/", "log in"],
  );
  assert.equal(plain.status, 403);
});

Deno.test("without a valid decision in time, requests get 503, or pass where the configuration says so", async () => {
  await using service = await startAuthorizerService();
  const grpc = { host: `127.0.0.1:${service.port}` };
  await using closed = await setUp({ grpc, timeout: "300ms" });
  await using open = await setUp({
    grpc,
    timeout: "300ms",
    failureMode: "Open",
    headersToBackend: ["x-user"],
  });
  const never = Promise.withResolvers<Fields>();
  const ok = (response: Fields) => ({
    status: { code: 0 },
    ok_response: response,
  });
  const faults: readonly (() => Fields | Promise<Fields>)[] = [
    () => never.promise,
    () => Promise.reject(new Error("planted failure")),
    () => ok({ headers: [header("x-a", "1\r\nx-evil: 1")] }),
    () => ok({ headers: [header("x a", "1")] }),
    () => ok({ headers: [header("host", "evil.example")] }),
    () => ok({ headers: [header("content-length", "3")] }),
    () => ok({ headers: [header(":path", "/admin")] }),
    () => ok({ headers_to_remove: ["transfer-encoding"] }),
    () => ok({ response_headers_to_add: [header("x-a", "\n")] }),
    () => ok({ query_parameters_to_remove: ["token"] }),
    () =>
      ok({
        headers: Array.from({ length: 200 }, (_, i) => header(`x-${i}`, "1")),
      }),
    () => ok({ headers: [header("x-big", "a".repeat(300_000))] }),
  ];

  const statuses: (readonly number[])[] = [];
  for (const fault of faults) {
    service.reply = fault;
    const rejected = await closed.send();
    const passed = await open.send("/", { headers: { "x-user": "mallory" } });
    statuses.push([rejected.status, passed.status]);
    assert.equal(passed.echoed.get("x-user"), null);
    assert.equal(passed.echoed.get("x-evil"), null);
    assert(!rejected.text.includes("planted"));
  }
  service.reply = () => ok({});
  const again = await closed.send();
  service.stop();
  const gone = await closed.send();
  never.resolve({});

  assert.deepEqual(statuses, faults.map(() => [503, 200]));
  assert.deepEqual([again.status, gone.status], [200, 503]);
});

Deno.test("an authorizer by HTTP sees method, path and listed headers; its response decides", async () => {
  const seen: { method: string; url: string; headers: Headers }[] = [];
  let respond = () => new Response();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers: new Headers(headers) });
      return respond();
    },
  );
  await using site = await setUp({
    http: { host: `127.0.0.1:${server.addr.port}`, path: "/check/" },
    headersToExtAuth: ["cookie"],
    headersToBackend: ["X-User", "x-groups"],
    timeout: "1s",
  });
  const headers = {
    authorization: "Bearer t",
    cookie: "a=1",
    "x-other": "1",
    "x-user": "mallory",
    "x-groups": "admins",
  };
  const results: (readonly [number, string | null])[] = [];
  const cases: readonly (() => Response)[] = [
    () => new Response("", { headers: { "x-user": "ada", "x-unlisted": "1" } }),
    () =>
      new Response("no", {
        status: 401,
        headers: { "www-authenticate": "Bearer" },
      }),
    () => new Response(null, { status: 204 }),
    () => new Response("away", { status: 500 }),
    () => new Response("a".repeat(400_000), { status: 403 }),
    () => Response.redirect("https://login.example/", 302),
  ];

  for (const each of cases) {
    respond = each;
    const { status, echoed } = await site.send("/a?b", {
      method: "DELETE",
      headers,
    });
    results.push([status, echoed.get("x-user")]);
    assert.equal(echoed.get("x-groups"), null);
    assert.equal(echoed.get("x-unlisted"), null);
  }

  const [first] = seen;
  assert.deepEqual(results, [
    [200, "ada"],
    [401, null],
    [204, null],
    [503, null],
    [503, null],
    [302, null],
  ]);
  assert.deepEqual(
    [
      first?.method,
      first && new URL(first.url).pathname,
      first?.headers.get("authorization"),
      first?.headers.get("cookie"),
      first?.headers.get("x-other"),
      first?.headers.get("x-user"),
      first?.headers.get("x-forwarded-uri"),
    ],
    ["DELETE", "/check/a", "Bearer t", "a=1", null, null, "/a?b"],
  );
});

Deno.test("each request is asked about, and a reload keeps the connection", async () => {
  await using service = await startAuthorizerService();
  await using site = await setUp({
    grpc: { host: `127.0.0.1:${service.port}` },
  });

  const [first, second] = [await site.send(), await site.send()];
  await site.gateway.gateway.reload();
  const third = await site.send();
  const many = await Promise.all(
    Array.from({ length: 20 }, () => site.send()),
  );

  assert.deepEqual(
    [first, second, third, ...many].map(({ status }) => status),
    Array(23).fill(200),
  );
  assert.equal(service.received.length, 23);
});
