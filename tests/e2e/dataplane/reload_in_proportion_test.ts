/** A reload compiles the routes that have changed, and those that use something that has. */
import assert from "node:assert/strict";
import type { ConfigurationSource } from "../../../src/config/configuration_source.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";

const ROUTES = 40;

interface Changes {
  /** Path of the first route. */
  readonly path?: string;
  /** Port of a backend that the last two routes use. */
  readonly backendPort?: number;
  /** Requests per hour of the gateway. */
  readonly limit?: number;
  /** Text before everything else, which moves all lines. */
  readonly head?: string;
}

function configuration(
  { path = "/0", backendPort = 9, limit = 1000, head = "" }: Changes,
  { workers, port }: { readonly workers: number; readonly port: number },
): string {
  const routes = Array.from({ length: ROUTES }, (_, index) => {
    const value = index === 0 ? path : `/${index}`;
    const backend = index < ROUTES - 2
      ? `{host: "127.0.0.1:${1000 + index}"}`
      : "{backend: shared}";
    return `- {name: r${index}, matches: [{path: {value: ${value}}}], backends: [${backend}]}`;
  });
  return `${head}
config: {adminAddr: "off", statsAddr: "off", workers: ${workers}}
gateways: {default: {port: ${port}}}
backends:
- {name: shared, static: {host: 127.0.0.1, port: ${backendPort}}}
routes:
${routes.join("\n")}
policies:
- name: limit
  targetRefs: [{kind: Gateway, name: default}]
  traffic: {rateLimit: {local: [{requests: ${limit}, unit: Hours}]}}
`;
}

for (const workers of [1, 2]) {
  Deno.test(`a reload compiles the routes that a change is about, workers: ${workers}`, async () => {
    const settings = { workers, port: freePort() };
    let text = configuration({}, settings);
    const config: ConfigurationSource = {
      read: () => Promise.resolve([{ name: "gateway.yaml", text }]),
      watch: () => Promise.resolve(noChanges()),
    };
    await using gateway = await Gateway.start({
      config,
      workers: {
        entry: new URL("../../../worker.ts", import.meta.url),
        writeLog: () => Promise.resolve(),
        writeAccessLog: () => Promise.resolve(),
        onLost: () => {},
      },
    });
    let before = 0;
    const compiled = async () => {
      const total = await compiledRoutes(gateway);
      const added = (total - before) / workers;
      before = total;
      return added;
    };
    const reload = async (changes: Changes) => {
      text = configuration(changes, settings);
      await gateway.reload();
      assert.equal(gateway.status().lastRejected, undefined);
      return await compiled();
    };
    assert.equal(await compiled(), ROUTES);
    assert.equal(await reload({}), 0);
    assert.equal(await reload({ head: "# Comment\n\n" }), 0);
    assert.equal(await reload({ path: "/changed" }), 1);
    const path = "/changed";
    assert.equal(await reload({ path, backendPort: 10 }), 2);
    assert.equal(await reload({ path, backendPort: 10, limit: 5 }), ROUTES);
  });
}

async function compiledRoutes({ dataPlane }: Gateway): Promise<number> {
  const name = "gateway_config_compiled_routes_total";
  const text = await dataPlane.call("collectMetrics", new Set([name]));
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

async function* noChanges(): AsyncGenerator<void> {}
