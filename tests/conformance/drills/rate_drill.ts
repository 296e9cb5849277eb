/** A thousand changes a second: through the API server as far as it goes, then past it, straight into its store. */
import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { Informer } from "../../../src/cluster/client/informer.ts";
import { KubernetesApi } from "../../../src/cluster/client/kubernetes_api.ts";
import { type Finding, residentMib, sleep } from "../../drills/drill.ts";
import { listOf } from "../pods.ts";
import {
  changeRoute,
  create,
  type DrillCluster,
  type DrillGateway,
  gatewayObjects,
  redirectRoute,
  ROUTES,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";
import { callStore } from "./store.ts";

const PORT = 8080;
const COUNT = 500;
const WRITERS = 4;
const IN_FLIGHT = 25;
const API_SECONDS = 8;
const RATE = 1000;
const SECONDS = 30;
/** The API server may need minutes to read what the store has. */
const CATCH_UP_MS = 600_000;
/** Changes of one transaction; the store allows 128. */
const BATCH = 50;
/** Of the kernel, in a second. */
const TICKS = 100;
const KEY = "/registry/gateway.networking.k8s.io/httproutes/default";

/** Measures the API server without a gateway and with one, then the gateway at a rate that the API server does not reach. */
export async function rateDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api } = cluster;
  const names = Array.from({ length: COUNT }, (_, index) => `r${index}`);
  await create(api, gatewayObjects(PORT));
  await create(api, names.map((name) => redirectRoute(name, "v0")));
  const alone = [
    await writeThroughApi(cluster, names, 1),
    await writeThroughApi(cluster, names, WRITERS),
  ];
  await using gateway = await startDrillGateway(cluster, PORT);
  await gateway.untilTarget("r0", "v0");
  const beside = await writeThroughApi(cluster, names, WRITERS);
  await gateway.untilTarget("r1", "v0");
  const findings = [{
    drill: "changes through the API server",
    figures: {
      "one writer": perSecond(alone[0]),
      [`${WRITERS} writers`]: perSecond(alone[1]),
      [`${WRITERS} writers beside a gateway`]: perSecond(beside),
    },
  }];
  return [...findings, await writeThroughStore(cluster, gateway, names)];
}

function perSecond(rate: number | undefined): string {
  return `${Math.round(rate ?? 0)}/s`;
}

/** Changes routes as fast as it goes; ends with all routes at `v0`, and returns the rate. */
async function writeThroughApi(
  { api: { access } }: DrillCluster,
  names: readonly string[],
  writers: number,
): Promise<number> {
  let [count, turn] = [0, 0];
  const from = performance.now();
  const end = from + API_SECONDS * 1000;
  await Promise.all(
    Array.from({ length: writers }, async () => {
      using api = new KubernetesApi(access);
      const work = async () => {
        while (performance.now() < end) {
          const name = names[turn++ % names.length] ?? "";
          await changeRoute(api, name, `v${turn}`);
          count++;
        }
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    }),
  );
  const rate = count / (performance.now() - from) * 1000;
  using api = new KubernetesApi(access);
  for (const name of names) await changeRoute(api, name, "v0");
  return rate;
}

/** Changes routes in the store, as the API server would; the gateway must not fall behind. */
async function writeThroughStore(
  { api }: DrillCluster,
  gateway: DrillGateway,
  names: readonly string[],
): Promise<Finding> {
  const routes = new StoredRoutes(await storedRoutes(names));
  using witness = new Witness(api);
  await until(() => Promise.resolve(witness.count === COUNT));
  const before = await residentMib(gateway);
  const usedBefore = await processorSeconds(gateway.pid);
  const lags: number[] = [];
  const writing = routes.writeAll();
  let highest = before;
  while (!routes.isOver) {
    const round = witness.roundOf("r0");
    const from = performance.now();
    await until(async () => roundOf(await gateway.target("r0")) >= round, 5);
    lags.push(performance.now() - from);
    highest = Math.max(highest, await residentMib(gateway));
    await sleep(100);
  }
  const rate = await writing;
  const used = await processorSeconds(gateway.pid) - usedBefore;
  let from = performance.now();
  const isServed = () =>
    names.every((name, index) => witness.roundOf(name) === routes.last[index]);
  await until(() => Promise.resolve(isServed()), 50, CATCH_UP_MS);
  const served = performance.now() - from;
  from = performance.now();
  for (const [index, name] of names.entries()) {
    await gateway.untilTarget(name, `v${routes.last[index]}`);
  }
  const settled = performance.now() - from;
  await until(() => areStatusesCurrent(api));
  const statuses = performance.now() - from;
  const half = lags.length >> 1;
  return {
    drill: `changes in the store for ${SECONDS} s, ${COUNT} routes`,
    figures: {
      rate: perSecond(rate),
      "API server behind the store": ms(served),
      "gateway behind the API server, median": ms(median(lags)),
      "first half": ms(median(lags.slice(0, half))),
      "second half": ms(median(lags.slice(half))),
      longest: ms(Math.max(...lags)),
      "after the last": ms(settled),
      "statuses right after": ms(statuses),
      "processor of the gateway": `${Math.round(used / SECONDS * 100)} %`,
      "memory before": `${before} MiB`,
      highest: `${highest} MiB`,
      after: `${await residentMib(gateway)} MiB`,
    },
  };
}

/** Returns the seconds that a process has used, all of its threads. */
async function processorSeconds(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [fields[11], fields[12]].map(Number);
  return ((user ?? NaN) + (system ?? NaN)) / TICKS;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

function roundOf(target: string): number {
  return Number(target.replace(/^v/, ""));
}

/** Reports whether the status of each route is that of its generation. */
async function areStatusesCurrent(api: KubernetesApi): Promise<boolean> {
  const list = await api.request({
    path: `${ROUTES}/namespaces/default/httproutes`,
  });
  return listOf(list, "items").every(({ metadata, status }) => {
    const generation = isJsonObject(metadata) ? metadata["generation"] : -1;
    return listOf(status, "parents").some((parent) =>
      listOf(parent, "conditions").every((condition) =>
        condition["observedGeneration"] === generation &&
        condition["status"] === "True"
      )
    );
  });
}

async function storedRoutes(
  names: readonly string[],
): Promise<readonly JsonObject[]> {
  return await Promise.all(names.map(async (name) => {
    const range = await callStore("range", { key: btoa(`${KEY}/${name}`) });
    const value = listOf(range, "kvs")[0]?.["value"];
    const object: unknown = JSON.parse(atob(String(value)));
    assert(isJsonObject(object), `${name} is not in the store`);
    return object;
  }));
}

/** Watches the routes too: tells what the API server has sent to its clients. */
class Witness implements Disposable {
  readonly #informer: Informer;
  readonly #stop = new AbortController();

  constructor(api: KubernetesApi) {
    this.#informer = new Informer({
      ...{ api, clock: systemClock, random: Math.random },
      path: `${ROUTES}/httproutes`,
    });
    void this.#informer.run(this.#stop.signal);
  }

  get count(): number {
    return this.#informer.items.size;
  }

  roundOf(name: string): number {
    const text = JSON.stringify(this.#informer.items.get(`default/${name}`));
    return Number(/"v(\d+)\.example\.com"/.exec(text)?.[1]);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

/** Writes new versions of routes into the store, at a steady rate. */
class StoredRoutes {
  /** Changes of each route. */
  readonly last: number[];
  isOver = false;
  readonly #objects: readonly JsonObject[];

  constructor(objects: readonly JsonObject[]) {
    this.#objects = objects;
    this.last = objects.map(() => 0);
  }

  /** Returns the rate that was reached. */
  async writeAll(): Promise<number> {
    const from = performance.now();
    const total = RATE * SECONDS;
    let count = 0;
    while (count < total) {
      const due = Math.min(total, (performance.now() - from) / 1000 * RATE);
      while (count + BATCH <= due) {
        const indexes = Array.from(
          { length: BATCH },
          (_, k) => (count + k) % this.#objects.length,
        );
        const success = indexes.map((index) => ({
          requestPut: this.#put(index),
        }));
        await callStore("txn", { success });
        for (const index of indexes) this.last[index] = this.#next(index);
        count += BATCH;
      }
      await sleep(5);
    }
    this.isOver = true;
    return count / (performance.now() - from) * 1000;
  }

  #next(index: number): number {
    return (this.last[index] ?? 0) + 1;
  }

  /** As it is, but for its target and its generation; the API server would keep the status too. */
  #put(index: number) {
    const object = this.#objects[index] ?? {};
    const { name } = isJsonObject(object["metadata"])
      ? object["metadata"]
      : { name: "" };
    const round = this.#next(index);
    const metadata = {
      ...(isJsonObject(object["metadata"]) && object["metadata"]),
      generation: 1_000_000 + round,
    };
    const { spec } = Object.assign(
      {},
      redirectRoute(String(name), `v${round}`),
    ) as { readonly spec?: unknown };
    const value = JSON.stringify({ ...object, metadata, spec });
    return { key: btoa(`${KEY}/${name}`), value: btoa(value) };
  }
}
