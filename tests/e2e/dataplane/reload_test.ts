import assert from "node:assert/strict";
import { yieldToEventLoop } from "../../../src/base/slices.ts";
import { join } from "node:path";
import { type ConfigurationSource, fileSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import {
  createConfigFolder,
  followFile,
  replaceFile,
} from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";
import { connectRaw, statusOf } from "../../harness/clients/raw_exchange.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const applied = /Configuration applied/;
const rejected = /Configuration rejected/;

/** A configuration that sends everything on `ports` to the upstream. */
function routed(
  { port: upstream }: RawUpstream,
  ...ports: (number | Readonly<Record<string, unknown>>)[]
) {
  const gateways = ports.map((port, index) => [
    `gateway${index}`,
    {
      address: "127.0.0.1",
      ...(typeof port === "number" ? { port } : port),
    },
  ]);
  return {
    gateways: Object.fromEntries(gateways),
    routes: [{
      name: "all",
      gateways: gateways.map(([name]) => name),
      backends: [{ host: `127.0.0.1:${upstream}` }],
    }],
  };
}

function upstreamThatSays(text: string): RawUpstream {
  return new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer(text));
    }
  });
}

/** An upstream that answers once it is let; `asked` resolves when the request is there. */
function slowUpstream() {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const upstream = new RawUpstream(async (connection) => {
    await connection.request();
    asked.resolve();
    await go.promise;
    await connection.send(answer("slow"));
  });
  return { upstream, asked: asked.promise, go: () => go.resolve() };
}

async function textOf(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`);
  return await response.text();
}

async function ask(client: RawConnection): Promise<string> {
  await client.send(GET);
  return await client.request();
}

/** Returns whether a port accepts connections. */
async function accepts(port: number): Promise<boolean> {
  try {
    (await connectRaw(port)).close();
    return true;
  } catch (error) {
    // Reset: the socket was closed a moment ago.
    const isClosed = error instanceof Deno.errors.ConnectionRefused ||
      error instanceof Deno.errors.ConnectionReset;
    if (isClosed) return false;
    throw error;
  }
}

/** Resolves when a port accepts no connections any more: the clients in its queue are still served. */
async function untilClosed(port: number): Promise<void> {
  while (await accepts(port)) await yieldToEventLoop();
}

async function metricsOf({ dataPlane }: Gateway): Promise<string> {
  return await dataPlane.call("collectMetrics");
}

Deno.test("gateway serves what the rewritten file says and finishes what it has begun", async () => {
  const { upstream, asked, go } = slowUpstream();
  await using one = upstream;
  await using two = upstreamThatSays("two");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, file);
  const inFlight = textOf(port);
  await asked;

  await replaceFile(file, routed(two, port));
  await test.log.next(applied);

  assert.equal(await textOf(port), "two");
  go();
  assert.equal(await inFlight, "slow");
});

Deno.test("gateway notices a file that is written in place", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, file);

  await Deno.writeTextFile(file, JSON.stringify(routed(two, port)));
  await test.log.next(applied);

  assert.equal(await textOf(port), "two");
});

Deno.test("gateway loads regular expressions with the reload that adds the first one", async () => {
  await using upstream = upstreamThatSays("matched");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(upstream, port));
  await using test = await followFile(folder, file);
  const { gateways, routes: [route] } = routed(upstream, port);
  const withMatch = (value: string) => ({
    gateways,
    routes: [{
      ...route,
      matches: [{ path: { type: "RegularExpression", value } }],
    }],
  });

  await replaceFile(file, withMatch("/v[12]/.*"));
  await test.log.next(applied);
  const matching = await fetch(`http://127.0.0.1:${port}/v1/models`);
  const other = await fetch(`http://127.0.0.1:${port}/v3/models`);
  await replaceFile(file, withMatch("/v[12"));
  await test.log.next(rejected);

  assert.equal(await matching.text(), "matched");
  assert.equal(other.status, 404);
  await other.body?.cancel();
  const [problem] = test.gateway.status().lastRejected?.diagnostics ?? [];
  assert.match(
    problem ?? "",
    /invalid regular expression: missing closing \]: "\[12"/,
  );
});

Deno.test("gateway keeps its configuration when a change is invalid, reports why, and recovers", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, file);
  const { hash } = test.gateway.status();

  await replaceFile(file, `gateways:\n  gateway0:\n    port: many\n`);
  await test.log.next(rejected);

  const status = test.gateway.status();
  assert.equal(status.hash, hash);
  assert.notEqual(status.lastRejected?.hash, hash);
  assert.equal(status.lastRejected?.diagnostics.length, 1);
  assert.match(
    status.lastRejected?.diagnostics[0] ?? "",
    /gateway\.yaml:3:11: error: gateways\.gateway0\.port: .*got "many"$/,
  );
  assert.match(
    await metricsOf(test.gateway),
    /^gateway_config_synchronized 0$/m,
  );
  assert.equal(await textOf(port), "one");

  await replaceFile(file, routed(two, port));
  await test.log.next(applied);

  assert.equal(test.gateway.status().lastRejected, undefined);
  assert.match(
    await metricsOf(test.gateway),
    /^gateway_config_synchronized 1$/m,
  );
  assert.match(
    await metricsOf(test.gateway),
    /^gateway_config_reloads_total\{result="rejected"\} 1$/m,
  );
  assert.equal(await textOf(port), "two");
});

Deno.test("gateway keeps its configuration while the file is gone", async () => {
  await using one = upstreamThatSays("one");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, file);

  await Deno.remove(file);
  await test.log.next(rejected);

  assert.match(
    test.gateway.status().lastRejected?.diagnostics[0] ?? "",
    /^Cannot read ".*gateway\.yaml": no such file or directory$/,
  );
  assert.equal(await textOf(port), "one");
  await replaceFile(file, routed(one, port));
  await test.log.next(applied);
});

Deno.test("gateway opens ports that are added, drains those that are removed, keeps the connections of the others", async () => {
  const { upstream, asked, go } = slowUpstream();
  await using slow = upstream;
  await using quick = upstreamThatSays("quick");
  const [kept, removed, added] = [freePort(), freePort(), freePort()];
  const { folder, file } = await createConfigFolder({
    gateways: {
      kept: { port: kept, address: "127.0.0.1" },
      removed: { port: removed, address: "127.0.0.1" },
    },
    routes: [
      {
        name: "a",
        gateways: ["kept"],
        backends: [{ host: `127.0.0.1:${quick.port}` }],
      },
      {
        name: "b",
        gateways: ["removed"],
        backends: [{ host: `127.0.0.1:${slow.port}` }],
      },
    ],
  });
  await using test = await followFile(folder, file);
  const keptClient = await connectRaw(kept);
  await ask(keptClient);
  const inFlight = textOf(removed);
  await asked;

  await replaceFile(file, routed(quick, kept, added));
  await test.log.next(applied);

  assert.equal(await textOf(added), "quick");
  await untilClosed(removed);
  assert.equal(statusOf(await ask(keptClient)), 200);
  go();
  assert.equal(await inFlight, "slow");
  keptClient.close();
});

Deno.test("gateway closes the idle connections of a port that is removed", async () => {
  await using upstream = upstreamThatSays("ok");
  const [kept, removed] = [freePort(), freePort()];
  const { folder, file } = await createConfigFolder(
    routed(upstream, kept, removed),
  );
  await using test = await followFile(folder, file);
  const idle = await connectRaw(removed);
  await ask(idle);

  await replaceFile(file, routed(upstream, kept));
  await test.log.next(applied);

  await idle.closedByPeer();
  idle.close();
});

Deno.test("gateway keeps the connections of a port that moves to another gateway or gets other limits", async () => {
  await using upstream = upstreamThatSays("ok");
  const [port, other] = [freePort(), freePort()];
  const { folder, file } = await createConfigFolder(
    routed(upstream, port, other),
  );
  await using test = await followFile(folder, file);
  const client = await connectRaw(port);
  await ask(client);

  await replaceFile(
    file,
    routed(upstream, other, {
      port,
      maxConnections: 1,
      timeouts: { idle: "1h" },
    }),
  );
  await test.log.next(applied);

  assert.equal(statusOf(await ask(client)), 200);
  const second = await connectRaw(port);
  await second.closedByPeer();
  second.close();
  client.close();
});

Deno.test("gateway closes idle connections by the time limit that was changed under them", async () => {
  await using upstream = upstreamThatSays("ok");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(upstream, port));
  await using test = await followFile(folder, file);
  const client = await connectRaw(port);
  await ask(client);

  await replaceFile(
    file,
    routed(upstream, { port, timeouts: { idle: "1ms" } }),
  );
  await test.log.next(applied);

  await ask(client);
  await client.closedByPeer();
  client.close();
});

Deno.test("gateways share a port at different addresses, and a reload moves it to all of them", async () => {
  await using upstream = upstreamThatSays("ok");
  const port = freePort();
  const at = (...addresses: readonly string[]) => {
    const { routes } = routed(upstream, port);
    const gateways = addresses.map((value, index) => ({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: `gateway${index}` },
      spec: {
        addresses: [{ value }],
        listeners: [{ name: "http", port, protocol: "HTTP" }],
      },
    }));
    const names = addresses.map((_, index) => `gateway${index}`);
    const routing = {
      routes: routes.map((route) => ({ ...route, gateways: names })),
    };
    return [routing, ...gateways].map((each) => JSON.stringify(each)).join(
      "\n---\n",
    );
  };
  let text = at("127.0.0.1", "127.0.0.2");
  const source: ConfigurationSource = {
    read: () => Promise.resolve([{ name: "<config>", text }]),
    watch: () => Promise.resolve((async function* () {})()),
  };
  const gateway = await Gateway.start({
    config: source,
    writeLog: () => {},
    writeAccessLog: () => {},
  });
  await using _stop = { [Symbol.asyncDispose]: () => gateway.stop(0) };
  const hosts = async () =>
    (await gateway.addresses()).map(({ hostname }) => hostname);
  assert.deepEqual(await hosts(), ["127.0.0.1", "127.0.0.2"]);
  for (const host of await hosts()) {
    const response = await fetch(`http://${host}:${port}/`);
    assert.equal(await response.text(), "ok");
  }
  text = at("0.0.0.0");
  await gateway.reload();
  assert.deepEqual(await hosts(), ["0.0.0.0"]);
  const response = await fetch(`http://127.0.0.2:${port}/`);
  assert.equal(await response.text(), "ok");
});

Deno.test("gateway moves a port to another address", async () => {
  await using upstream = upstreamThatSays("ok");
  const port = freePort();
  const { folder, file } = await createConfigFolder(
    routed(upstream, { port, address: "127.0.0.2" }),
  );
  await using test = await followFile(folder, file);

  await replaceFile(file, routed(upstream, { port, address: "localhost" }));
  await test.log.next(applied);

  assert.equal(await textOf(port), "ok");
  const addresses = await test.gateway.addresses();
  assert.deepEqual(addresses[0], {
    configuredPort: port,
    isTls: false,
    hostname: "127.0.0.1",
    port,
  });
});

Deno.test("gateway rejects a configuration whose port is taken, and changes nothing", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const [port, free] = [freePort(), freePort()];
  const { folder, file } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, file);
  const client = await connectRaw(port);
  await ask(client);

  // `two` is an upstream: its port is taken for sure. Before it is found out, one port was opened and another moved.
  await replaceFile(
    file,
    routed(two, free, { port, address: "localhost" }, two.port),
  );
  await test.log.next(rejected);

  const [diagnostic = ""] = test.gateway.status().lastRejected?.diagnostics ??
    [];
  const text = await Deno.readTextFile(file);
  const column = text.lastIndexOf(`${two.port}}`) + 1;
  assert.equal(
    diagnostic,
    `${file}:1:${column}: error: gateways.gateway2.port: Cannot listen on port ${two.port} of 127.0.0.1: address already in use; stop the other program or select another port (gateway "gateway2")`,
  );
  await untilClosed(free);
  assert.equal(await textOf(port), "one");
  assert.match(await ask(client), /one$/);
  client.close();
});

Deno.test("gateway does not start when a port is taken", async () => {
  await using upstream = upstreamThatSays("ok");
  const taken = Deno.listen({ port: 0 });
  const { port } = taken.addr;
  const { folder, file } = await createConfigFolder({
    gateways: { default: { port } },
    routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
  });

  await assert.rejects(
    Gateway.start({ config: fileSource(file) }),
    new RegExp(`Cannot listen on port ${port}: address already in use`),
  );

  taken.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("gateway follows the swapped link of a mounted ConfigMap", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const port = freePort();
  const { folder } = await createConfigFolder({});
  const mount = join(folder, "mount");
  const version = async (name: string, upstream: RawUpstream) => {
    const path = join(mount, name);
    await Deno.mkdir(path, { recursive: true });
    await replaceFile(join(path, "gateway.yaml"), routed(upstream, port));
    await Deno.symlink(name, join(mount, "..data_tmp"));
    await Deno.rename(join(mount, "..data_tmp"), join(mount, "..data"));
  };
  await version("..2026_1", one);
  await Deno.symlink("..data/gateway.yaml", join(mount, "gateway.yaml"));
  await using test = await followFile(folder, join(mount, "gateway.yaml"));

  await version("..2026_2", two);
  await Deno.remove(join(mount, "..2026_1"), { recursive: true });
  await test.log.next(applied);

  assert.equal(await textOf(port), "two");
});

Deno.test("gateway follows the files of a folder", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const [port, other] = [freePort(), freePort()];
  const { folder } = await createConfigFolder(routed(one, port));
  await using test = await followFile(folder, folder);

  await replaceFile(join(folder, "more.json"), {
    gateways: { more: { port: other, address: "127.0.0.1" } },
    routes: [{
      name: "more",
      gateways: ["more"],
      backends: [{ host: `127.0.0.1:${two.port}` }],
    }],
  });
  await test.log.next(applied);
  assert.equal(await textOf(other), "two");
  assert.equal(await textOf(port), "one");

  await Deno.remove(join(folder, "more.json"));
  await test.log.next(applied);
  await untilClosed(other);
});

Deno.test("gateway reports that a change of the config section needs a restart", async () => {
  await using upstream = upstreamThatSays("ok");
  const config = routed(upstream, freePort());
  const { folder, file } = await createConfigFolder(config);
  await using test = await followFile(folder, file);

  await replaceFile(file, { ...config, config: { drainTimeout: "1s" } });

  await test.log.next(applied);
  await test.log.next(
    /warn\tgateway\tA change of "config" takes effect after a restart/,
  );
});

Deno.test("gateway misses no change that is made while it starts", async () => {
  await using one = upstreamThatSays("one");
  await using two = upstreamThatSays("two");
  const port = freePort();
  const { folder, file } = await createConfigFolder(routed(one, port));
  const source = fileSource(file);
  const log = new LogLines();
  let isFirst = true;
  await using _ = await Gateway.start({
    config: {
      watch: (options) => source.watch(options),
      async read() {
        const sources = await source.read();
        if (isFirst) await replaceFile(file, routed(two, port));
        isFirst = false;
        return sources;
      },
    },
    writeLog: (line) => log.add(line),
  });
  await log.next(applied);
  await log.next(applied);

  assert.equal(await textOf(port), "two");
  await Deno.remove(folder, { recursive: true });
});

/** A source whose readings end when the test says so. */
function readByHand(
  first: unknown,
): { config: ConfigurationSource; answers: PromiseWithResolvers<unknown>[] } {
  const answers: PromiseWithResolvers<unknown>[] = [];
  let initial: unknown = first;
  return {
    answers,
    config: {
      watch: () => Promise.resolve((async function* () {})()),
      async read() {
        let content = initial;
        initial = undefined;
        if (content === undefined) {
          const answer = Promise.withResolvers<unknown>();
          answers.push(answer);
          content = await answer.promise;
        }
        return [{ name: "test", text: JSON.stringify(content) }];
      },
    },
  };
}

Deno.test("gateway stopped during a reload opens no port any more", async () => {
  await using upstream = upstreamThatSays("ok");
  const [port, added] = [freePort(), freePort()];
  const { config, answers } = readByHand(routed(upstream, port));
  const gateway = await Gateway.start({ config });
  const reloads = [gateway.reload(), gateway.reload()];
  await Promise.resolve();

  const stopped = gateway.stop(0);
  answers[0]?.resolve(routed(upstream, port, added));
  await Promise.all([...reloads, stopped]);

  assert.equal(answers.length, 1);
  await untilClosed(added);
  await untilClosed(port);
});

Deno.test({
  name:
    "gateway refuses a named pipe in place of its file, its certificate or its key, and goes on",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using upstream = upstreamThatSays("ok");
  const port = freePort();
  const config = routed(upstream, port);
  const { folder, file } = await createConfigFolder(config);
  await using test = await followFile(folder, file);
  const pipe = join(folder, "pipe");
  await new Deno.Command("mkfifo", { args: [pipe] }).output();

  await replaceFile(
    file,
    routed(upstream, {
      port,
      protocol: "HTTPS",
      tls: { cert: "pipe", key: "pipe" },
    }),
  );
  const line = await test.log.next(/expected a file, got a named pipe/);
  await test.log.next(rejected);
  await Deno.rename(pipe, file);
  const readError = await test.log.next(/Cannot read the configuration/);
  const text = await textOf(port);

  assert.match(line, /gateway\.yaml:1:\d+: error: /);
  assert.match(readError, /expected a file or a directory, got a named pipe/);
  assert.equal(text, "ok");
  await test.gateway.stop(0);
});
