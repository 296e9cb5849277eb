/** The gateway as a library, as `mod.ts` and `docs/library.md` document it. */
import assert from "node:assert/strict";
import {
  ConfigurationError,
  type ConfigurationSource,
  startGateway,
  type WatchOptions,
} from "../../../mod.ts";
import { freePort } from "../../harness/process/free_port.ts";

const root = new URL("../../../", import.meta.url);

function configFor(port: number, body: string) {
  return {
    gateways: { default: { port, address: "127.0.0.1" } },
    routes: [{ policies: { directResponse: { status: 200, body } } }],
  };
}

async function fetchText(port: number): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${port}/`)).text();
}

async function runDeno(
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    env: { NO_COLOR: "1", ...env },
  });
  const { code, stdout, stderr } = await command.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("examples/library.ts runs and prints what it does", async () => {
  const port = freePort();

  const output = await runDeno(
    ["run", "-A", "--no-check", "--quiet", "examples/library.ts"],
    { PORT: String(port) },
  );

  assert.match(output, new RegExp(`^listening on 127\\.0\\.0\\.1:${port}\n`));
  assert.match(output, /^response: one\ntrace: requestStarted\n/m);
  assert.match(output, /^trace: requestFinished\nresponse: two\nrejected: /m);
  assert.match(output, /^gateway_requests_total\{.*\} 2$/m);
});

Deno.test("apply replaces the configuration, and a rejected one changes nothing", async () => {
  const port = freePort();
  await using gateway = await startGateway({ config: configFor(port, "one") });
  assert.equal(await fetchText(port), "one");

  await gateway.apply(configFor(port, "two"));
  assert.equal(await fetchText(port), "two");
  assert.equal(gateway.status().lastRejected, undefined);

  await assert.rejects(
    gateway.apply("gateways: { a: { prot: 1 } }\nroute: []\n"),
    (error) => {
      assert(error instanceof ConfigurationError);
      assert.deepEqual(
        error.diagnostics.map(({ line, path }) => `${line} ${path}`),
        ["1 gateways.a.prot", "2 route"],
      );
      return true;
    },
  );
  assert.equal(await fetchText(port), "two");
  assert.equal(gateway.status().lastRejected?.diagnostics.length, 2);

  await gateway.reload();
  assert.equal(await fetchText(port), "two");
  assert.equal(gateway.status().lastRejected, undefined);
});

Deno.test("apply rejects a configuration whose port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = freePort();
  await using gateway = await startGateway({ config: configFor(port, "one") });

  await assert.rejects(
    gateway.apply(configFor(taken.addr.port, "two")),
    (error) => {
      assert(error instanceof ConfigurationError);
      assert.match(error.message, new RegExp(`port ${taken.addr.port}`));
      return true;
    },
  );
  assert.equal(await fetchText(port), "one");
});

Deno.test("calls of apply at the same time each get the result of their own configuration", async () => {
  const port = freePort();
  await using gateway = await startGateway({ config: configFor(port, "one") });

  const results = await Promise.allSettled([
    gateway.apply(configFor(port, "two")),
    gateway.apply("gateways: 1"),
    gateway.apply(configFor(port, "three")),
  ]);

  assert.deepEqual(results.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  assert.equal(await fetchText(port), "three");
});

Deno.test("a gateway follows its source, and returns to it after apply when it changes", async () => {
  const port = freePort();
  const source = new MemorySource(JSON.stringify(configFor(port, "source")));
  const log: string[] = [];
  await using gateway = await startGateway({
    config: source,
    writeLog: (line) => log.push(line),
  });
  await gateway.apply(configFor(port, "applied"));
  assert.equal(await fetchText(port), "applied");

  await source.change(JSON.stringify(configFor(port, "changed")));
  await gateway.reload();

  assert.equal(await fetchText(port), "changed");
  assert.match(log.join(""), /Configuration applied/);
});

Deno.test("traces, metrics, addresses and readiness of a gateway in this process", async () => {
  const port = freePort();
  const gateway = await startGateway({ config: configFor(port, "one") });
  assert.equal(gateway.readiness(), "ready");
  assert.deepEqual(
    (await gateway.addresses()).map(({ hostname, port }) => ({
      hostname,
      port,
    })),
    [{ hostname: "127.0.0.1", port }],
  );

  const trace = await gateway.traces({ filter: 'request.path == "/"' });
  await fetchText(port);
  const types = (await Array.fromAsync(trace)).map(({ message }) =>
    message["type"]
  );
  await assert.rejects(gateway.traces({ filter: "request." }), Error);

  assert.deepEqual([types[0], types.at(-1)], [
    "requestStarted",
    "requestFinished",
  ]);
  assert.match(await gateway.metrics(), /^gateway_requests_total\{.*\} 1$/m);
  await gateway.stop(0);
  assert.equal(gateway.readiness(), "draining");
  assert.deepEqual(await gateway.addresses(), []);
});

Deno.test("startGateway rejects with every error of the configuration", async () => {
  const config = "gateways: { a: { prot: 1 } }\nroute: []\n";

  await assert.rejects(startGateway({ config }), (error) => {
    assert(error instanceof ConfigurationError);
    assert.deepEqual(
      error.diagnostics.map(({ line, path }) => `${line} ${path}`),
      ["1 gateways.a.prot", "2 route"],
    );
    return true;
  });
});

/** A source whose text a test changes. */
class MemorySource implements ConfigurationSource {
  #text: string;
  #changed = Promise.withResolvers<void>();
  #seen = Promise.withResolvers<void>();

  constructor(text: string) {
    this.#text = text;
  }

  read() {
    return Promise.resolve([{ name: "memory", text: this.#text }]);
  }

  watch({ signal }: WatchOptions): Promise<AsyncIterable<void>> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => aborted.resolve(), { once: true });
    return Promise.resolve(this.#changes(signal, aborted.promise));
  }

  /** Resolves once the gateway has seen the change. */
  async change(text: string): Promise<void> {
    this.#text = text;
    this.#changed.resolve();
    await this.#seen.promise;
  }

  async *#changes(
    signal: AbortSignal,
    aborted: Promise<void>,
  ): AsyncGenerator<void> {
    await Promise.race([this.#changed.promise, aborted]);
    if (signal.aborted) return;
    yield;
    this.#seen.resolve();
    await aborted;
  }
}
