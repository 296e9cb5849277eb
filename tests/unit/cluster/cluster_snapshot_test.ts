import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { ClusterSource } from "../../../src/cluster/source/cluster_source.ts";
import { StatusController } from "../../../src/cluster/status/status_controller.ts";
import { textSource } from "../../../src/config/configuration_source.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { compileAll } from "../compile/resources.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import {
  type ApiCall,
  failure,
  FakeApiServer,
} from "./client/fake_api_server.ts";

const CONTROLLER = "example.com/gateway";

/** Objects of an API server by the last part of their path. */
type Contents = Readonly<Record<string, readonly object[]>>;

function metadata(name: string) {
  return { name, namespace: "default", uid: name, resourceVersion: "1" };
}

function route(name: string): object {
  return {
    metadata: metadata(name),
    spec: { parentRefs: [{ name: "gw" }] },
  };
}

const kinds: Readonly<Record<string, string>> = {
  gatewayclasses: "GatewayClass",
  gateways: "Gateway",
  httproutes: "HTTPRoute",
};

const contents: Contents = {
  gatewayclasses: [{
    metadata: { name: "class", uid: "class" },
    spec: { controllerName: CONTROLLER },
  }],
  gateways: [{
    metadata: metadata("gw"),
    spec: {
      gatewayClassName: "class",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  }],
  httproutes: [route("old")],
  secrets: [],
};

/** An API server that can be away, and a folder for the snapshot. */
class Site implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = new RecordedLog();
  contents: Contents = contents;
  rejects: (call: ApiCall) => boolean = () => false;
  readonly server = new FakeApiServer((call) => this.#respond(call));
  readonly #folder = Deno.makeTempDirSync();

  get path(): string {
    return `${this.#folder}/snapshot`;
  }

  /** Starts a gateway's source; `read` resolves when there is a configuration. */
  start(namespaces: readonly string[] = []) {
    const { clock, log, path } = this;
    const source = new ClusterSource({
      ...{ clock, log, namespaces },
      api: this.server.api,
      random: () => 0.5,
      schemas: schemasOf().kinds,
      policyApiGroup: POLICY_API_GROUP,
      controllerName: CONTROLLER,
      isManaged: false,
      snapshot: path,
      settings: textSource("config: {}"),
    });
    const stop = new AbortController();
    const running = take(source, stop.signal);
    return {
      source,
      routes: () => routesOf(source),
      read: source.read(),
      async [Symbol.asyncDispose]() {
        stop.abort();
        await running;
      },
    };
  }

  /** Lets the time pass until `condition` is true. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      this.clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  async untilRead(read: Promise<unknown>): Promise<void> {
    let isRead = false;
    void read.then(() => isRead = true);
    await this.until(() => isRead);
  }

  /** Runs a gateway until it has written a snapshot with these routes. */
  async writeSnapshot(): Promise<void> {
    await using running = this.start();
    await this.untilRead(running.read);
    await this.until(() => textOf(this.path) !== undefined);
  }

  /** Waits for a line of the log. */
  async untilLogged(pattern: RegExp): Promise<void> {
    await this.until(() => this.log.lines.some((line) => pattern.test(line)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }

  #respond(call: ApiCall): Response | object {
    if (this.rejects(call)) return failure(503, "ServiceUnavailable");
    const plural = call.path.slice(call.path.lastIndexOf("/") + 1);
    return {
      kind: `${kinds[plural] ?? "Any"}List`,
      apiVersion: "gateway.networking.k8s.io/v1",
      metadata: { resourceVersion: "7" },
      items: this.contents[plural] ?? [],
    };
  }
}

/** Takes each configuration, as a gateway does. */
async function take(source: ClusterSource, signal: AbortSignal): Promise<void> {
  for await (const _ of await source.watch({ signal })) source.objects();
}

function routesOf(source: ClusterSource): readonly string[] {
  return source.objects().resources.httpRoutes.map(({ metadata }) =>
    metadata.name
  );
}

function textOf(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

Deno.test("a gateway that starts while the API server is away serves what was read last, until it is back", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  site.rejects = () => true;
  await using running = site.start();
  await site.untilRead(running.read);

  assert.deepEqual(running.routes(), ["old"]);
  assert.equal(running.source.taken?.isRestored, true);
  assert.match(
    running.source.problem() ?? "",
    /^Serving the snapshot of 2026-01-01T.*Cannot read .* from the API server/,
  );

  site.contents = { ...contents, httproutes: [route("new")] };
  site.rejects = () => false;
  await site.until(() => running.source.problem() === undefined);
  await site.until(() => running.source.taken?.isRestored === false);
  assert.deepEqual(running.routes(), ["new"]);
  await site.until(() => textOf(site.path)?.includes('"new"') === true);
});

Deno.test("a snapshot is in force as a whole until every kind can be read", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  site.contents = { ...contents, httproutes: [route("new")] };
  site.rejects = ({ path }) => path.endsWith("/gatewaypolicies");
  await using running = site.start();
  await site.untilRead(running.read);
  assert.deepEqual(running.routes(), ["old"]);

  site.rejects = () => false;
  await site.until(() => running.routes().includes("new"));
  assert.equal(running.source.problem(), undefined);
});

Deno.test("a cluster that can be read is read, whatever the snapshot has", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  site.contents = { ...contents, httproutes: [route("new")] };
  await using running = site.start();
  await site.untilRead(running.read);
  assert.deepEqual(running.routes(), ["new"]);
  assert.equal(running.source.taken?.isRestored, false);
});

Deno.test("no status is written from a snapshot", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  site.contents = { ...contents, httproutes: [route("new")] };
  site.rejects = ({ path }) => path.endsWith("/gatewaypolicies");
  await using running = site.start();
  await site.untilRead(running.read);
  const { clock, log, server } = site;
  const { source } = running;
  const status = new StatusController({
    ...{ clock, log, source, api: server.api, controllerName: CONTROLLER },
    addressesOf: () => [],
    conditionsOf: () => [],
    identity: "test",
  });
  const stop = new AbortController();
  const apply = () => {
    const { resources } = source.objects();
    status.onApplied(compileAll(resources).outcomes);
  };
  apply();
  const writing = status.run(stop.signal);
  site.rejects = () => false;
  await site.until(() => source.taken?.isRestored === false);
  apply();
  const written = () =>
    server.calls.filter(({ method, path }) =>
      method === "PUT" && path.includes("/httproutes/")
    ).map(({ path }) => path);
  await site.until(() => written().length > 0);
  stop.abort();
  await writing;
  assert.deepEqual(written().filter((path) => !path.includes("/new/")), []);
});

Deno.test("only its owner may read the file", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  const { mode } = await Deno.stat(site.path);
  assert.equal((mode ?? 0) & 0o777, 0o600);
});

Deno.test("a file that does not fit is not used, and the log says why", async () => {
  await using site = new Site();
  await site.writeSnapshot();
  const text = textOf(site.path) ?? "";
  const lines = text.split("\n");
  const faults: readonly (readonly [string | undefined, RegExp])[] = [
    [undefined, /there is none yet/],
    ["", /no snapshot of this version/],
    [text.replace('"format":1', '"format":2'), /no snapshot of this version/],
    [text.replace("127.0.0.1", "192.0.2.1"), /of the API server http/],
    [text.replace("/httproutes?", "/more?"), /other kinds or namespaces/],
    [[...lines.slice(0, -2), ""].join("\n"), /damaged/],
    [text.replace('{"key"', '{"kei"'), /damaged/],
  ];
  site.rejects = () => true;
  for (const [fault, pattern] of faults) {
    site.log.lines.length = 0;
    if (fault === undefined) await Deno.remove(site.path);
    else await Deno.writeTextFile(site.path, fault);
    await using running = site.start();
    await site.untilLogged(pattern);
    assert.equal(running.source.cache.restoredFrom, undefined);
    site.rejects = () => false;
    await site.untilRead(running.read);
    site.rejects = () => true;
  }
});

Deno.test("a file that cannot be written keeps nothing from being served", async () => {
  await using site = new Site();
  await Deno.mkdir(site.path);
  await using running = site.start();
  await site.untilRead(running.read);
  await site.untilLogged(/^error Cannot write the snapshot/);
  assert.deepEqual(running.routes(), ["old"]);
  const names = await Array.fromAsync(Deno.readDir(`${site.path}/..`));
  assert.equal(names.length, 1);
});
