/** Starts without the API server, and without the definitions that the gateway reads. */
import assert from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { Informer } from "../../../src/cluster/client/informer.ts";
import {
  ApiError,
  type ApiRequest,
  KubernetesApi,
} from "../../../src/cluster/client/kubernetes_api.ts";
import { parseAllYaml } from "../../../src/base/yaml_library.ts";
import type { Finding } from "../../drills/drill.ts";
import { install } from "../install.ts";
import {
  changeRoute,
  create,
  type DrillCluster,
  gatewayObjects,
  readDefinitions,
  redirectRoute,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";
import { callStore } from "./store.ts";

const PORT = 8080;
const COUNT = 450;

/** Starts a gateway with a snapshot while the API server is killed. */
export async function snapshotDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api, directory } = cluster;
  const args = [`--cluster-snapshot=${directory}/snapshot`];
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  {
    await using gateway = await startDrillGateway(cluster, PORT, { args });
    await gateway.untilTarget("r", "v0");
    await until(async () =>
      (await Deno.stat(args[0]?.split("=")[1] ?? "")).isFile
    );
  }
  await cluster.signal("SIGKILL");
  await using gateway = await startDrillGateway(cluster, PORT, { args });
  await gateway.untilTarget("r", "v0");
  const served = performance.now() - gateway.startedAt;
  assert.match(
    await gateway.stats("/healthz/ready"),
    /^ready\n.*Serving the snapshot of .*Cannot read/,
  );
  assert.match(await gateway.stats("/metrics"), /gateway_config_source_up 0/);
  await cluster.restart();
  await changeRoute(api, "r", "v1");
  const ms = await gateway.untilTarget("r", "v1");
  await until(async () =>
    /gateway_config_source_up 1/.test(await gateway.stats("/metrics"))
  );
  assert.doesNotMatch(await gateway.stats("/healthz/ready"), /snapshot/);
  return [{
    drill: "cold start from a snapshot",
    figures: {
      "served after": `${(served / 1000).toFixed(1)} s`,
      "in step when it is back": `${Math.round(ms)} ms`,
    },
  }];
}

/** Starts a gateway in a cluster with an old BackendTLSPolicy only, then installs the others. */
export async function definitionsDrill(
  cluster: DrillCluster,
): Promise<Finding[]> {
  const { api } = cluster;
  const definitions = await readDefinitions();
  await install(api, oldDefinition(definitions));
  await using gateway = await startDrillGateway(cluster, PORT);
  const named =
    /only in gateway\.networking\.k8s\.io\/v1alpha3, and the gateway reads gateway\.networking\.k8s\.io\/v1/;
  await until(async () => named.test(await gateway.log()));
  const from = performance.now();
  await api.request({
    method: "DELETE",
    path:
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/backendtlspolicies.gateway.networking.k8s.io",
  });
  await until(async () =>
    (await gateway.log()).includes("Configuration applied")
  );
  const started = performance.now() - from;
  await install(api, definitions);
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  const ms = await gateway.untilTarget("r", "v0");
  return [{
    drill: "definitions older, then missing",
    figures: {
      "started without any": `${(started / 1000).toFixed(1)} s`,
      "in step after they are installed": `${(ms / 1000).toFixed(1)} s`,
    },
  }];
}

/** The definition of BackendTLSPolicy as an older release has it. */
function oldDefinition(texts: readonly string[]): readonly string[] {
  const found = texts.flatMap((text) => parseAllYaml(text)).filter(isJsonObject)
    .find((object) =>
      JSON.stringify(object["metadata"]).includes(
        '"backendtlspolicies.',
      )
    );
  assert(found !== undefined);
  const spec = isJsonObject(found["spec"]) ? found["spec"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  const newest = versions.filter(isJsonObject).find(({ name }) =>
    name === "v1"
  );
  return [JSON.stringify({
    ...found,
    spec: {
      ...spec,
      versions: [{ ...newest, name: "v1alpha3", served: true, storage: true }],
    },
  })];
}

/** Has the API server read pages from the store, as older releases do; newer ones keep copies of lists. */
export const pagingFlags = ["--feature-gates=ListFromCacheSnapshot=false"];

/** Compacts the store between two pages of a list: the API server has forgotten the version of the list (410). */
export async function pagingDrill(cluster: DrillCluster): Promise<Finding[]> {
  const names = Array.from({ length: COUNT }, (_, index) => `r${index}`);
  await create(cluster.api, gatewayObjects(PORT));
  await create(cluster.api, names.map((name) => redirectRoute(name, "v0")));
  using api = new CompactingApi(cluster.api);
  const informer = new Informer({
    api,
    clock: systemClock,
    random: Math.random,
    path: "/apis/gateway.networking.k8s.io/v1/httproutes",
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await until(() => Promise.resolve(informer.hasSynced));
  assert.equal(informer.items.size, COUNT);
  assert(api.expired > 0, "no page had expired");
  const changed = () => JSON.stringify(informer.items.get("default/r0"));
  await until(() => Promise.resolve(changed().includes("between")));
  stop.abort();
  await running;
  return [{
    drill: "store compacted between two pages",
    figures: { objects: COUNT, "410": api.expired },
  }];
}

/** Changes a route and compacts the store before it asks for the second page of a list. */
class CompactingApi extends KubernetesApi {
  expired = 0;
  readonly #admin: KubernetesApi;
  #isDone = false;

  constructor(admin: KubernetesApi) {
    super(admin.access);
    this.#admin = admin;
  }

  override async request(request: ApiRequest): Promise<unknown> {
    if (request.path.includes("continue=") && !this.#isDone) {
      this.#isDone = true;
      await changeRoute(this.#admin, "r0", "between");
      await compact();
    }
    try {
      return await super.request(request);
    } catch (error) {
      if (error instanceof ApiError && error.code === 410) this.expired++;
      throw error;
    }
  }
}

async function compact(): Promise<void> {
  const range = await callStore("range", { key: btoa("a") });
  const header: unknown = isJsonObject(range) ? range["header"] : undefined;
  assert(isJsonObject(header));
  await callStore("compaction", {
    revision: header["revision"],
    physical: true,
  });
}
