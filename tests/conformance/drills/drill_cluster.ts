/** A real API server, gateways that read from it, and their clients. */
import type { KubernetesApi } from "../../../src/cluster/client/kubernetes_api.ts";
import { sleep } from "../../drills/drill.ts";
import { type ApiServer, start, startApiServer } from "../api_server.ts";
import { install } from "../install.ts";

export const CONTROLLER = "gateway.internal/controller";
export const ROUTES = "/apis/gateway.networking.k8s.io/v1";
const DEADLINE_MS = 120_000;

/** Returns the texts of the CustomResourceDefinitions. */
export async function readDefinitions(): Promise<readonly string[]> {
  const folder = `${requireVariable("GATEWAY_API")}/config/crd/experimental`;
  const texts = [await Deno.readTextFile("deploy/crds.yaml")];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".yaml") || !name.startsWith("gateway")) continue;
    texts.push(await Deno.readTextFile(`${folder}/${name}`));
  }
  return texts;
}

/** An API server with a folder for files and logs of gateways. */
export interface DrillCluster extends ApiServer, AsyncDisposable {
  readonly directory: string;
}

/** Starts an API server; it ends with the process namespace. */
export async function startCluster(
  { definitions = true, flags = [] }: {
    readonly definitions?: boolean;
    /** More flags of the API server. */
    readonly flags?: readonly string[];
  } = {},
): Promise<DrillCluster> {
  // Memory, as etcd waits for the disk.
  const state = await Deno.makeTempDir({ dir: "/dev/shm", prefix: "kube." });
  // A gateway that serves reads no files of /dev.
  const directory = await Deno.makeTempDir({ prefix: "kube." });
  const server = await startApiServer(
    state,
    requireVariable("KUBE_BIN"),
    flags,
  );
  if (definitions) await install(server.api, await readDefinitions());
  return {
    ...server,
    directory,
    async [Symbol.asyncDispose]() {
      await server.stop();
      server.api[Symbol.dispose]();
      await Deno.remove(state, { recursive: true });
      if (!Deno.env.has("KEEP")) {
        await Deno.remove(directory, { recursive: true });
      }
    },
  };
}

/** A class and a gateway on `port` of all addresses, which any namespace may use. */
export function gatewayObjects(
  port: number,
  { name = "gw", controllerName = CONTROLLER } = {},
): readonly object[] {
  return [
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name },
      spec: { controllerName },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name, namespace: "default" },
      spec: {
        gatewayClassName: name,
        listeners: [{
          name: "http",
          port,
          protocol: "HTTP",
          allowedRoutes: { namespaces: { from: "All" } },
        }],
      },
    },
  ];
}

/** A route of gateway `parents` whose response names `target`. */
export function redirectRoute(
  name: string,
  target: string,
  parents: readonly string[] = ["gw"],
): object {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, namespace: "default" },
    spec: {
      parentRefs: parents.map((each) => ({ name: each })),
      rules: [{
        matches: [{ path: { type: "Exact", value: `/${name}` } }],
        filters: [{
          type: "RequestRedirect",
          requestRedirect: { hostname: `${target}.example.com` },
        }],
      }],
    },
  };
}

/** Applies objects, in order. */
export async function create(
  api: KubernetesApi,
  objects: readonly object[],
): Promise<void> {
  // A kind that was just defined is not found for a moment.
  await until(async () => {
    await install(api, objects.map((each) => JSON.stringify(each)));
    return true;
  });
}

/** Points a route elsewhere. */
export async function changeRoute(
  api: KubernetesApi,
  name: string,
  target: string,
): Promise<void> {
  await api.request({
    method: "PATCH",
    path: `${ROUTES}/namespaces/default/httproutes/${name}`,
    timeoutMs: DEADLINE_MS,
    contentType: "application/json-patch+json",
    body: [{
      op: "replace",
      path: "/spec/rules/0/filters/0/requestRedirect/hostname",
      value: `${target}.example.com`,
    }],
  });
}

/** A gateway process. */
export interface DrillGateway extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly startedAt: number;
  log(): Promise<string>;
  signal(signal: Deno.Signal): void;
  /** Returns where a route points, or the status of a response that is no redirect. */
  target(route: string): Promise<string>;
  /** Waits until a route points there; returns the time in milliseconds. */
  untilTarget(route: string, target: string): Promise<number>;
  /** Reads from the stats server. */
  stats(path: string): Promise<string>;
}

let lastStats = 15_100;

/** Starts a gateway that serves `port`. */
export async function startDrillGateway(
  { directory, kubeconfig }: Pick<DrillCluster, "directory" | "kubeconfig">,
  port: number,
  { args = [], workers = 1, shares = false, host = "127.0.0.1", namespaceOf }: {
    readonly args?: readonly string[];
    readonly workers?: number;
    /** Another gateway has the port. */
    readonly shares?: boolean;
    /** Process whose network namespace it has. */
    readonly namespaceOf?: number;
    /** Its address. */
    readonly host?: string;
  } = {},
): Promise<DrillGateway> {
  const statsPort = ++lastStats;
  const file = `${directory}/gateway-${statsPort}.yaml`;
  const log = `${directory}/gateway-${statsPort}.log`;
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      config: {
        adminAddr: "off",
        statsAddr: `${host}:${statsPort}`,
        accessLog: { enabled: false },
        workers,
        ...(shares && { reusePort: true }),
      },
    }),
  );
  const startedAt = performance.now();
  const [program = "", ...prefix] = [
    ...(namespaceOf === undefined
      ? []
      : ["nsenter", "-t", String(namespaceOf), "-n"]),
    Deno.execPath(),
  ];
  const gateway = start(program, log, [
    ...prefix,
    ...["run", "-A", "--no-check", "main.ts", "--cluster", "-f", file],
    `--kubeconfig=${kubeconfig}`,
    ...args,
  ]);
  const target = async (route: string): Promise<string> => {
    const response = await fetch(`http://${host}:${port}/${route}`, {
      redirect: "manual",
    });
    await response.body?.cancel();
    const location = response.headers.get("location");
    return location === null
      ? String(response.status)
      : new URL(location).hostname.replace(".example.com", "");
  };
  return {
    pid: gateway.pid,
    port,
    startedAt,
    log: () => Deno.readTextFile(log),
    signal: (signal) => gateway.kill(signal),
    target,
    async untilTarget(route, expected) {
      const from = performance.now();
      await until(async () => await target(route) === expected, 2);
      return performance.now() - from;
    },
    async stats(path) {
      const response = await fetch(`http://${host}:${statsPort}${path}`);
      return await response.text();
    },
    async [Symbol.asyncDispose]() {
      try {
        gateway.kill("SIGKILL");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
      await gateway.status;
    },
  };
}

/** Waits until `condition` is true; errors count as false. */
export async function until(
  condition: () => Promise<boolean>,
  everyMs = 50,
  withinMs = DEADLINE_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  let last: unknown = "it stayed false";
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    await sleep(everyMs);
  }
  throw new Error("A condition was not met in time", { cause: last });
}

function requireVariable(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) {
    throw new Error(`${name} is not set; run make cluster-drills`);
  }
  return value;
}
