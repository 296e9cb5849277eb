/** /debug/tasks while everything that it tells of is going on. */
import assert from "node:assert/strict";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

const audience = "https://gw.example/mcp";

/** Answers nothing until it is disposed; `asked` resolves with the first path of each kind. */
function startSilentProvider() {
  const over = Promise.withResolvers<Response>();
  const keys = Promise.withResolvers<void>();
  const metadata = Promise.withResolvers<void>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const isKeys = new URL(request.url).pathname === "/jwks.json";
      (isKeys ? keys : metadata).resolve();
      return over.promise;
    },
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    keysAsked: keys.promise,
    metadataAsked: metadata.promise,
    async [Symbol.asyncDispose]() {
      over.resolve(new Response(null, { status: 500 }));
      await server.shutdown();
    },
  };
}

/** `/stream` begins an answer, `/socket` opens a WebSocket, the rest waits until it is disposed. */
function startBackend() {
  const over = Promise.withResolvers<Response>();
  const waiting = Promise.withResolvers<void>();
  const first = new TextEncoder().encode("first");
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/socket") {
        return Deno.upgradeWebSocket(request).response;
      }
      if (pathname === "/shared") return new Response("ok");
      if (pathname === "/stream") {
        return new Response(
          new ReadableStream({ start: (body) => body.enqueue(first) }),
        );
      }
      waiting.resolve();
      return over.promise;
    },
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    waiting: waiting.promise,
    async [Symbol.asyncDispose]() {
      over.resolve(new Response("late"));
      await server.shutdown();
    },
  };
}

function routeOf(
  name: string,
  paths: readonly string[],
  host: string,
  policies: Readonly<Record<string, unknown>> = {},
) {
  const matches = paths.map((value) => ({
    path: { type: "PathPrefix", value },
  }));
  return { name, matches, backends: [{ host }], policies };
}

/** Routes whose requests come to stand in different places. */
function routesTo(host: string, provider: string) {
  return [
    routeOf(
      "mcp",
      ["/mcp", "/.well-known/oauth-authorization-server/mcp"],
      host,
      {
        jwtAuthentication: {
          providers: [{
            issuer: `${provider}/`,
            audiences: [audience],
            jwks: { url: `${provider}/jwks.json` },
          }],
          mcp: { provider: "IdpA" },
        },
      },
    ),
    routeOf("shared", ["/shared"], host, {
      rateLimit: {
        global: {
          domain: "tasks",
          descriptors: [{
            requests: 100,
            unit: "Hours",
            entries: [{ key: "all", value: "'all'" }],
          }],
        },
      },
    }),
    routeOf("all", ["/"], host),
  ];
}

/** A JWT but for its signature. */
const signedHead = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0";

interface Task {
  readonly [field: string]: unknown;
  readonly requests: readonly Task[];
  readonly connections: readonly Task[];
}

async function tasksOf({ admin }: GatewayProcess) {
  return await (await fetch(`${admin}/debug/tasks`)).json();
}

/** The tasks, once they are as a test wants them. */
async function tasksUntil(
  gateway: GatewayProcess,
  // deno-lint-ignore no-explicit-any -- as the endpoint answers
  isReady: (tasks: any) => boolean,
) {
  let tasks;
  for (let tries = 0; tries < 5000; tries++) {
    tasks = await tasksOf(gateway);
    if (isReady(tasks)) return tasks;
  }
  throw new Error(`Not ready: ${JSON.stringify(tasks)}`);
}

/** Starts a request whose answer, if any comes, nobody wants. */
function leave(
  open: DisposableStack,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const client = new AbortController();
  open.defer(() => client.abort());
  const response = fetch(url, { headers, signal: client.signal });
  response.catch(() => {});
  return response;
}

Deno.test("/debug/tasks shows requests in every phase, refreshes, leases and watchers", async () => {
  const folder = await Deno.makeTempDir();
  await using provider = startSilentProvider();
  await using backend = startBackend();
  await using gateway = await GatewayProcess.start({
    config: {
      config: { kv: { path: `${folder}/limits.db` } },
      routes: routesTo(backend.host, provider.origin),
    },
  });
  using open = new DisposableStack();
  const issuer = await createTokenIssuer({
    issuer: `${provider.origin}/`,
    kid: "k",
  });
  const token = await issuer.sign({ aud: audience });

  let shared: Response;
  do {
    // On a busy machine the store may need longer than the gateway waits.
    shared = await fetch(`${gateway.origin}/shared`);
    await shared.body?.cancel();
  } while (shared.status === 503);
  const stream = await leave(open, `${gateway.origin}/stream`);
  await stream.body?.getReader().read();
  leave(open, `${gateway.origin}/slow/${signedHead}.c2lnbmF0dXJl`);
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/socket`);
  open.defer(() => socket.close());
  await new Promise((resolve) => socket.onopen = resolve);
  leave(open, `${gateway.origin}/mcp`, { authorization: `Bearer ${token}` });
  const metadata = "/.well-known/oauth-authorization-server/mcp";
  leave(open, gateway.origin + metadata);
  const watcher = await leave(open, `${gateway.admin}/debug/trace?count=3`);
  await watcher.body?.getReader().read();
  await Promise.all([
    backend.waiting,
    provider.keysAsked,
    provider.metadataAsked,
  ]);
  const tasks = await tasksUntil(
    gateway,
    ({ requests, leases }) => requests === 5 && leases[0]?.remaining === 99,
  );

  const [listener] = tasks.listeners;
  assert.deepEqual(
    [tasks.listeners.length, listener.port, listener.state],
    [1, gateway.port, "accepting"],
  );
  const requests = listener.connections.flatMap((connection: Task) => {
    assert.match(String(connection["peer"]), /^127\.0\.0\.1:[0-9]+$/);
    assert.equal(connection["protocol"], "http/1.1");
    for (const { ageMs } of connection.requests) {
      assert.ok(Number(connection["ageMs"]) >= Number(ageMs));
      assert.ok(Number(ageMs) >= 0);
    }
    return connection.requests;
  });
  assert.deepEqual(
    requests.map(({ path, phase, route, endpoint }: Task) =>
      [path, phase, route, endpoint].join(" ")
    ).toSorted(),
    [
      `${metadata} route policies mcp `,
      "/mcp route policies mcp ",
      `/slow/${signedHead}.<redacted> upstream all ${backend.host}`,
      `/socket tunnel all ${backend.host}`,
      `/stream response all ${backend.host}`,
    ],
  );
  const [upstream] = tasks.upstreams;
  assert.equal(upstream.endpoint, backend.host);
  assert.ok(upstream.active >= 2, JSON.stringify(upstream));
  for (
    const { source, fetchingMs } of [
      ...tasks.keySets,
      ...tasks.providerMetadata,
    ]
  ) {
    assert.ok(source.startsWith(provider.origin), source);
    assert.ok(fetchingMs >= 0, `${source} ${fetchingMs}`);
  }
  assert.equal(tasks.keySets.length, 1);
  assert.equal(tasks.providerMetadata.length, 1);
  assert.equal(tasks.leases[0].scope, "KV/tasks");
  assert.deepEqual(tasks.watchers, [{ isBusy: false, left: 3, events: 0 }]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("/debug/tasks shows a closed port with requests in progress", async () => {
  await using backend = startBackend();
  const routes = [routeOf("all", ["/"], backend.host)];
  await using gateway = await GatewayProcess.start({ config: { routes } });
  using open = new DisposableStack();
  leave(open, `${gateway.origin}/slow`);
  await backend.waiting;

  const port = freePort();
  const text = JSON.stringify(configFor(port, { routes }));
  await replaceFile(gateway.file, text);
  await gateway.log.next(/Configuration applied/);
  const tasks = await tasksOf(gateway);

  assert.deepEqual(
    tasks.listeners.map(({ port, state, connections }: Task) =>
      [port, state, connections.length].join(" ")
    ).toSorted(),
    [`${port} accepting 0`, `${gateway.port} draining 1`].toSorted(),
  );
});
