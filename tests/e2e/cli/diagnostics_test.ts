import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";

const token = "correct-horse-battery-staple";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function gwctl(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const { code, stdout, stderr } = await gatewayCommand({
    args: ["proxy", ...args],
    asGwctl: true,
    env,
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** A backend that answers when it is told to. */
function startWaitingBackend() {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async () => {
      arrived.resolve();
      await answer.promise;
      return new Response("late");
    },
  );
  return { server, arrived: arrived.promise, answer: answer.resolve };
}

Deno.test("/debug/tasks and gwctl proxy tasks show a request that waits for its backend", async () => {
  const { server, arrived, answer } = startWaitingBackend();
  const endpoint = `127.0.0.1:${server.addr.port}`;
  await using gateway = await GatewayProcess.start({
    config: { routes: [{ name: "slow", backends: [{ host: endpoint }] }] },
  });
  const { port } = new URL(gateway.admin);

  const response = fetch(`${gateway.origin}/late?secret=1`);
  await arrived;
  const tasks = await (await fetch(`${gateway.admin}/debug/tasks`)).json();
  const shown = await gwctl(["tasks", "-p", port]);
  const backends = await gwctl(["backends", "-p", port]);
  answer();
  await (await response).body?.cancel();
  await server.shutdown();

  assert.equal(tasks.connections, 1);
  assert.equal(tasks.requests, 1);
  assert.equal(tasks.omitted, 0);
  const [connection] = tasks.listeners[0].connections;
  assert.equal(connection.protocol, "http/1.1");
  const [request] = connection.requests;
  const { phase, method, path, route, endpoint: asked } = request;
  assert.deepEqual(
    { phase, method, path, route, asked },
    {
      phase: "upstream",
      method: "GET",
      path: "/late",
      route: "slow",
      asked: endpoint,
    },
  );
  assert.deepEqual(tasks.upstreams, [{
    endpoint,
    backends: ["default/slow/backend0"],
    health: "healthy",
    check: null,
    requests: 1,
    failures: 0,
    failureShare: null,
    ejections: 0,
    latencyMs: null,
    active: 1,
    idle: 0,
    waiting: 0,
  }]);
  assert.match(shown.stdout, /^1 connections, 1 requests\n/);
  assert.match(shown.stdout, /upstream +GET +\/late +slow/);
  assert.match(
    backends.stdout,
    new RegExp(`${endpoint} +healthy +1 +- +- +1 +0 +0 +-\n`),
  );
});

Deno.test("health and error rate of gwctl proxy backends agree, after one failed request too", async () => {
  let count = 0;
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(null, { status: count++ % 3 === 0 ? 500 : 204 }),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  await using gateway = await GatewayProcess.start({
    config: { routes: [{ name: "mixed", backends: [{ host }] }] },
  });
  const { port } = new URL(gateway.admin);
  const backendsAfter = async (requests: number) => {
    for (let index = 0; index < requests; index++) {
      await (await fetch(gateway.origin)).body?.cancel();
    }
    return (await gwctl(["backends", "-p", port])).stdout;
  };

  const afterOne = await backendsAfter(1);
  const afterSix = await backendsAfter(5);

  assert.match(afterOne, /REQUESTS +ERRORS/);
  assert.match(afterOne, new RegExp(`${host} +failing +1 +100% `));
  assert.match(afterSix, new RegExp(`${host} +failing +6 +33% `));
});

Deno.test("/debug/tasks lists as many as requested and counts the rest", async () => {
  const { server, arrived, answer } = startWaitingBackend();
  const host = `127.0.0.1:${server.addr.port}`;
  await using gateway = await GatewayProcess.start({
    config: { routes: [{ name: "slow", backends: [{ host }] }] },
  });

  const responses = [1, 2, 3].map(() => fetch(gateway.origin));
  await arrived;
  let tasks;
  do {
    const answer = await fetch(`${gateway.admin}/debug/tasks?limit=2`);
    tasks = await answer.json();
  } while (tasks.requests < 3);
  answer();
  for (const response of responses) await (await response).body?.cancel();
  await server.shutdown();

  const [{ connections }] = tasks.listeners;
  assert.equal(connections.length, 1);
  assert.equal(connections[0].requests.length, 1);
  assert.equal(tasks.omitted, tasks.connections + tasks.requests - 2);
});

Deno.test("gwctl proxy memory shows sizes and stores", async () => {
  await using gateway = await GatewayProcess.start({
    config: { routes: [] },
  });
  const { port } = new URL(gateway.admin);

  const table = await gwctl(["memory", "-p", port]);
  const json = await gwctl(["memory", "-p", port, "-o", "json"]);

  assert.match(table.stdout, /^process +resident +[0-9.]+ MiB$/m);
  assert.match(table.stdout, /^failedRequests +0 +256 +requests$/m);
  const { process, heap, heapSpaces, stores, smaps } = JSON.parse(json.stdout);
  // The executable has no permission to read it.
  if (Deno.build.os === "linux" && Deno.env.get("GATEWAY_BIN") === undefined) {
    assert.ok(smaps.rssBytes > heap.usedBytes);
    assert.match(table.stdout, /^smaps +privateDirty +[0-9.]+ MiB$/m);
  }
  assert.ok(process.residentBytes > heap.usedBytes);
  assert.ok(heapSpaces.length > 3);
  assert.ok(
    stores.every(({ used, capacity }: Record<string, number>) =>
      Number(used) <= Number(capacity)
    ),
  );
});

Deno.test("an admin token is requested, taken from file or environment, and shown nowhere", async () => {
  const folder = await Deno.makeTempDir();
  const tokenFile = `${folder}/token`;
  await Deno.writeTextFile(tokenFile, `${token}\n`);
  try {
    await using gateway = await GatewayProcess.start({
      config: { config: { adminTokenFile: tokenFile }, routes: [] },
    });
    const { port } = new URL(gateway.admin);
    const without = await gwctl(["log", "-p", port]);
    const wrong = await gwctl(["log", "-p", port], {
      GATEWAY_ADMIN_TOKEN: `${token}x`,
    });
    const fromFile = await gwctl([
      "config",
      "all",
      "-p",
      port,
      "--token-file",
      tokenFile,
    ]);
    const fromEnvironment = await gwctl(["log", "-p", port], {
      GATEWAY_ADMIN_TOKEN: token,
    });

    for (const { code, stderr } of [without, wrong]) {
      assert.equal(code, 1);
      assert.match(stderr, /returned 401: unauthorized.*--token-file/s);
    }
    assert.equal(fromFile.code, 0, fromFile.stderr);
    assert.equal(fromEnvironment.stdout, "current log level is info\n");
    const everything = [without, wrong, fromFile, fromEnvironment]
      .map(({ stdout, stderr }) => stdout + stderr).join("");
    assert.ok(!everything.includes(token));
    assert.ok(!gateway.log.all.join("").includes(token));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the gateway does not start with a token file without a token", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/gateway.yaml`;
  await Deno.writeTextFile(`${folder}/token`, "short\n");
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      config: {
        adminAddr: "127.0.0.1:0",
        statsAddr: "off",
        adminTokenFile: `${folder}/token`,
      },
      gateways: { default: { port: freePort(), address: "127.0.0.1" } },
      routes: [],
    }),
  );
  try {
    const { code, stderr } = await gatewayCommand({ args: ["-f", file] })
      .output();

    const text = new TextDecoder().decode(stderr);
    assert.equal(code, 1);
    assert.match(text, /Cannot use config\.adminTokenFile/);
    assert.ok(!text.includes("short"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
