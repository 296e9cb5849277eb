/** API servers that end, freeze or fall silent, leaders that do, and classes of others. */
import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/base/json.ts";
import type { KubernetesApi } from "../../../src/cluster/client/kubernetes_api.ts";
import { type Finding, sleep } from "../../drills/drill.ts";
import {
  changeRoute,
  CONTROLLER,
  create,
  type DrillCluster,
  type DrillGateway,
  gatewayObjects,
  redirectRoute,
  ROUTES,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";

const PORT = 8080;
const SETTLE_MS = 5000;
const OTHER = "other.example/gateway";

/** Ends and freezes the API server under load: no request may be lost. */
export async function outageDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  await using gateway = await startDrillGateway(cluster, PORT);
  await gateway.untilTarget("r", "v0");
  const load = startLoad(gateway);
  const figures: Record<string, string> = {};

  await cluster.signal("SIGKILL");
  await untilMetric(gateway, "gateway_config_source_up 0");
  assert.match(await gateway.stats("/healthz/ready"), /^ready\n.*API server/);
  await cluster.restart();
  figures["in step after a restart"] = await inStep(api, gateway, "v1");
  // Some kinds are available later than others.
  await sleep(SETTLE_MS);
  await untilMetric(gateway, "gateway_config_source_up 1");

  await cluster.signal("SIGSTOP");
  const frozenAt = performance.now();
  await untilMetric(gateway, "gateway_config_source_up 0");
  figures["silence noticed"] = `${Math.round(performance.now() - frozenAt)} ms`;
  await cluster.signal("SIGCONT");
  figures["in step after silence"] = await inStep(api, gateway, "v2");

  const { sent, lost } = await load.stop();
  assert.equal(lost, 0, "requests were lost");
  return [{
    drill: "API server killed and frozen under load",
    figures: { ...figures, requests: sent, lost },
  }];
}

/** Ends and freezes the leader: another one has to write the statuses, and only one at a time. */
export async function leaderDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await create(api, gatewayObjects(PORT));
  await create(
    api,
    gatewayObjects(PORT + 1, {
      name: "foreign",
      controllerName: OTHER,
    }),
  );
  const figures: Record<string, string> = {};
  await using foreign = await startDrillGateway(cluster, PORT + 1, {
    args: [`--controller-name=${OTHER}`],
  });
  await create(api, [redirectRoute("first", "v0", ["gw", "foreign"])]);
  await using first = await startDrillGateway(cluster, PORT);
  await untilControllers(api, "first", [CONTROLLER, OTHER]);
  assert.equal(await foreign.target("first"), "v0");
  await using second = await startDrillGateway(cluster, PORT, {
    shares: true,
  });
  await until(async () =>
    (await second.log()).includes("Configuration applied")
  );

  first.signal("SIGSTOP");
  let from = performance.now();
  await create(api, [redirectRoute("second", "v0", ["gw", "foreign"])]);
  await untilControllers(api, "second", [CONTROLLER, OTHER]);
  figures["status after a frozen leader"] = seconds(from);
  first.signal("SIGCONT");
  await until(async () => (await first.log()).includes("No longer leading"));

  second.signal("SIGKILL");
  from = performance.now();
  await create(api, [redirectRoute("third", "v0", ["gw", "foreign"])]);
  await untilControllers(api, "third", [CONTROLLER, OTHER]);
  figures["status after a killed leader"] = seconds(from);
  await untilControllers(api, "first", [CONTROLLER, OTHER]);
  return [{ drill: "leader frozen and killed, beside another class", figures }];
}

/** Changes routes as fast as the API server takes it; all gateways have to end with the last state. */
export async function burstDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  const names = Array.from({ length: 100 }, (_, index) => `r${index}`);
  await create(api, gatewayObjects(PORT));
  await create(api, names.map((name) => redirectRoute(name, "v0")));
  await using gateway = await startDrillGateway(cluster, PORT, { workers: 2 });
  await gateway.untilTarget("r0", "v0");
  const from = performance.now();
  for (let round = 1; round <= 30; round++) {
    await Promise.all(names.map((name) => changeRoute(api, name, `v${round}`)));
  }
  const rate = 3000 / (performance.now() - from) * 1000;
  const settled = performance.now();
  for (const name of names) await gateway.untilTarget(name, "v30");
  return [{
    drill: "3 000 changes at once",
    figures: {
      rate: `${Math.round(rate)}/s`,
      "in step after the last": `${Math.round(performance.now() - settled)} ms`,
    },
  }];
}

async function inStep(
  api: KubernetesApi,
  gateway: DrillGateway,
  target: string,
): Promise<string> {
  await changeRoute(api, "r", target);
  return `${Math.round(await gateway.untilTarget("r", target))} ms`;
}

async function untilMetric(
  gateway: DrillGateway,
  line: string,
): Promise<void> {
  await until(async () => (await gateway.stats("/metrics")).includes(line));
}

/** Waits until the status of a route has entries of exactly these controllers. */
async function untilControllers(
  api: KubernetesApi,
  route: string,
  expected: readonly string[],
): Promise<void> {
  await until(async () => {
    const found = await api.request({
      path: `${ROUTES}/namespaces/default/httproutes/${route}`,
    });
    const status = isJsonObject(found) ? found["status"] : undefined;
    const parents = isJsonObject(status) ? status["parents"] : undefined;
    const names = Array.isArray(parents)
      ? parents.map(({ controllerName }) => String(controllerName))
      : [];
    return names.toSorted().join() === expected.toSorted().join();
  });
}

/** Sends requests all the time; counts those without the response of a route. */
export function startLoad(gateway: DrillGateway) {
  let [sent, lost] = [0, 0];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      sent++;
      try {
        if (!(await gateway.target("r")).startsWith("v")) lost++;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        lost++;
      }
      await sleep(5);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await running;
      return { sent, lost };
    },
  };
}

function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
