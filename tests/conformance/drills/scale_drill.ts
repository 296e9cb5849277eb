/** Thousands of routes, and changes of them. */
import assert from "node:assert/strict";
import type { KubernetesApi } from "../../../src/cluster/client/kubernetes_api.ts";
import { openLoopLatencies } from "../../bench/measure.ts";
import { type Finding, residentMib, sleep } from "../../drills/drill.ts";
import {
  changeRoute,
  create,
  type DrillCluster,
  gatewayObjects,
  redirectRoute,
  ROUTES,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";

const COUNTS = { routes: 5000, services: 1000, endpoints: 10 };
const PORT = 8080;
const SECONDS = 10;
const CHANGES_PER_SECOND = 100;
const CONCURRENCY = 32;

/** Measures a cold start, and one change while others go on. */
export async function scaleDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  await fill(api);
  const findings: Finding[] = [];
  for (const workers of [1, 2]) {
    await using gateway = await startDrillGateway(cluster, PORT, { workers });
    await until(async () => await gateway.target("marked") === "v0", 20);
    const startMs = performance.now() - gateway.startedAt;
    const idle = await residentMib(gateway);
    const marks: number[] = [];
    const stop = new AbortController();
    const changing = changeOthers(api, stop.signal);
    const pausing = openLoopLatencies(
      `http://127.0.0.1:${PORT}/`,
      200,
      SECONDS,
    );
    const end = performance.now() + SECONDS * 1000;
    for (let mark = 1; performance.now() < end; mark++) {
      await changeRoute(api, "marked", `v${mark}`);
      marks.push(await gateway.untilTarget("marked", `v${mark}`));
    }
    const pauses = await pausing;
    stop.abort();
    const others = await changing;
    const { name, target } = others.last;
    await gateway.untilTarget(name, target);
    await changeRoute(api, "marked", "v0");
    marks.sort((a, b) => a - b);
    const at = (part: number) =>
      Math.round(marks.at(Math.floor(part * marks.length)) ?? NaN);
    findings.push({
      drill:
        `5 000 routes, 1 000 Services, 10 000 endpoints, workers: ${workers}`,
      figures: {
        "cold start": `${(startMs / 1000).toFixed(1)} s`,
        "changes beside": `${Math.round(others.count / SECONDS)}/s`,
        "one change, median": `${at(0.5)} ms`,
        "p99": `${at(0.99)} ms`,
        "longest pause": `${Math.round(pauses.at(-1) ?? NaN)} ms`,
        "memory idle": `${idle} MiB`,
        "memory after": `${await residentMib(gateway)} MiB`,
      },
    });
    assert(marks.length > 0);
  }
  return findings;
}

async function fill(api: KubernetesApi): Promise<void> {
  await create(api, gatewayObjects(PORT));
  const tasks: (() => Promise<unknown>)[] = [];
  const post = (path: string, body: object) =>
    tasks.push(() => api.request({ method: "POST", path, body }));
  for (let i = 0; i < COUNTS.services; i++) {
    post("/api/v1/namespaces/default/services", {
      metadata: { name: `s${i}` },
      spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] },
    });
    post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      metadata: {
        name: `s${i}-a`,
        labels: { "kubernetes.io/service-name": `s${i}` },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: Array.from({ length: COUNTS.endpoints }, (_, k) => ({
        addresses: [`10.${64 + (i >> 8)}.${i & 255}.${k + 1}`],
        conditions: { ready: true },
      })),
    });
  }
  const routes = `${ROUTES}/namespaces/default/httproutes`;
  post(routes, redirectRoute("marked", "v0"));
  for (let i = 0; i < CHANGES_PER_SECOND; i++) {
    post(routes, redirectRoute(`busy${i}`, "v0"));
  }
  for (let i = tasks.length - 2 * COUNTS.services; i < COUNTS.routes; i++) {
    post(routes, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: `r${i}` },
      spec: {
        parentRefs: [{ name: "gw" }],
        hostnames: [`h${i % 500}.example.com`],
        rules: [{
          matches: [{ path: { type: "PathPrefix", value: `/api/${i}` } }],
          backendRefs: [{ name: `s${i % COUNTS.services}`, port: 80 }],
        }],
      },
    });
  }
  const work = async () => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await task();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Changes routes all the time; returns how many changes were made, and the last. */
async function changeOthers(api: KubernetesApi, signal: AbortSignal) {
  let count = 0;
  let last = { name: "busy0", target: "v0" };
  const pending = new Set<Promise<void>>();
  const startedAt = performance.now();
  while (!signal.aborted) {
    while (
      count < (performance.now() - startedAt) / 1000 * CHANGES_PER_SECOND
    ) {
      last = { name: `busy${count % CHANGES_PER_SECOND}`, target: `v${count}` };
      const change = changeRoute(api, last.name, last.target);
      pending.add(change);
      void change.finally(() => pending.delete(change));
      count++;
    }
    await sleep(5);
  }
  await Promise.all(pending);
  return { count, last };
}
