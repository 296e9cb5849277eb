import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import {
  ApiError,
  type KubernetesApi,
} from "../../src/cluster/client/kubernetes_api.ts";
import { type ApiServer, startApiServer } from "./api_server.ts";
import { install } from "./install.ts";
import { ClusterNode } from "./node.ts";
import { listOf } from "./pods.ts";

/** A cluster for tests: an API server, a node, and the definitions of the Gateway API. */
export interface TestCluster {
  readonly api: KubernetesApi;
  readonly kubeconfig: string;
  readonly issueClient: ApiServer["issueClient"];
  /** Folder with the programs. */
  readonly programs: string;
  /** Logs and volumes. */
  readonly directory: string;
}

const DEADLINE_MS = 60_000;

/** Starts a cluster, which ends with the namespaces of `.ci/conformance`. */
export async function startTestCluster(): Promise<TestCluster> {
  const programs = requireVariable("KUBE_BIN");
  const directory = await Deno.makeTempDir({ prefix: "kube." });
  const { api, kubeconfig, kubelet, issueClient } = await startApiServer(
    directory,
    programs,
  );
  await install(api, await readDefinitions());
  const node = new ClusterNode({
    ...{ api, directory, kubelet },
    echo: `${programs}/echo-basic`,
    gateway: gatewayCommand(),
    ca: api.access.ca ?? "",
    onError: (message) => void print(message),
  });
  void node.run(new AbortController().signal);
  return { api, kubeconfig, issueClient, programs, directory };
}

/** Runs Helm. @throws {Error} With what it printed. */
export async function helm(
  { programs, kubeconfig }: TestCluster,
  ...args: readonly string[]
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(
    `${programs}/helm`,
    { args: [...args, "--kubeconfig", kubeconfig] },
  ).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!success) throw new Error(decode(stderr));
  return decode(stdout);
}

/** Installs the chart as `gateway` in the namespace `gateway-system`, with more arguments. */
export async function installChart(
  cluster: TestCluster,
  args: readonly string[],
): Promise<void> {
  const namespace = "gateway-system";
  const chart = "deploy/helm/gateway";
  await helm(
    cluster,
    ...["install", "gateway", chart, "-n", namespace, "--create-namespace"],
    ...args,
  );
}

/** Returns the command that runs the gateway: the source, or the executable `GATEWAY_BIN`. */
export function gatewayCommand(): readonly string[] {
  const executable = Deno.env.get("GATEWAY_BIN");
  return executable === undefined
    ? [Deno.execPath(), "run", "-A", "--no-check", `${Deno.cwd()}/main.ts`]
    : [executable];
}

/** Returns the CustomResourceDefinitions of the Gateway API. */
export async function readDefinitions(): Promise<readonly string[]> {
  const folder = `${requireVariable("GATEWAY_API")}/config/crd/experimental`;
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".yaml") || !name.startsWith("gateway")) continue;
    texts.push(await Deno.readTextFile(`${folder}/${name}`));
  }
  return texts;
}

/** Returns a variable that `.ci/conformance` sets. */
export function requireVariable(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) {
    throw new Error(`${name} is not set; run make conformance`);
  }
  return value;
}

/** Prints a line. */
export async function print(line: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
}

/** Waits until `find` returns something. @throws {Error} After a minute, with what it last threw. */
export async function until<Value>(
  what: string,
  find: () => Promise<Value | undefined>,
): Promise<Value> {
  const deadline = Date.now() + DEADLINE_MS;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const found = await find();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within ${DEADLINE_MS} ms`, { cause: last });
}

/** Returns the object at a path, `undefined` if there is none. */
export async function get(
  { api }: TestCluster,
  path: string,
): Promise<JsonObject | undefined> {
  try {
    const object = await api.request({ path });
    return isJsonObject(object) ? object : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}

/** Returns the addresses of the ready endpoints of a Service. */
export async function readyEndpoints(
  cluster: TestCluster,
  namespace: string,
  service: string,
): Promise<readonly string[]> {
  const slices = await get(
    cluster,
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${
      encodeURIComponent(`kubernetes.io/service-name=${service}`)
    }`,
  );
  return listOf(slices, "items").flatMap((slice) => listOf(slice, "endpoints"))
    .filter(({ conditions }) =>
      isJsonObject(conditions) && conditions["ready"] === true
    ).flatMap(({ addresses }) =>
      Array.isArray(addresses) ? addresses.map(String) : []
    );
}

/** Returns a condition of a status as `True/Reason: message`. */
export function condition(
  object: JsonObject | undefined,
  type: string,
): string | undefined {
  const found = listOf(object?.["status"], "conditions").find((each) =>
    each["type"] === type
  );
  return found &&
    `${found["status"]}/${found["reason"]}: ${found["message"]}`;
}
