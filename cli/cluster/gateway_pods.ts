import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  valueAt,
} from "../../src/base/json.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import {
  controllerId,
  proxyLabels,
  SERVES_LABEL,
} from "../../src/cluster/infrastructure/proxy_objects.ts";
import { Failure } from "../process/exit.ts";

/** A pod that serves a gateway. */
export interface GatewayPod {
  readonly namespace: string;
  readonly name: string;
}

const GATEWAY_API = "/apis/gateway.networking.k8s.io/v1";

/**
 * Finds the running pods that serve a gateway: its own proxies, or those that serve all gateways of its class.
 * @throws {Failure} When there are none.
 */
export async function findGatewayPods(
  api: KubernetesApi,
  namespace: string,
  name: string,
): Promise<readonly GatewayPod[]> {
  const own = await listPods(
    api,
    proxyLabels({ metadata: { namespace, name } }),
  );
  const pods = own.length > 0
    ? own
    : await listPods(api, await classLabels(api, namespace, name));
  if (pods.length > 0) return pods;
  throw new Failure(
    `Cannot find pods of gateway/${name} in namespace "${namespace}": none is running; see "kubectl describe gateway ${name} -n ${namespace}"`,
  );
}

async function classLabels(
  api: KubernetesApi,
  namespace: string,
  name: string,
): Promise<Readonly<Record<string, string>>> {
  const gateway = await read(
    api,
    `${GATEWAY_API}/namespaces/${namespace}/gateways/${name}`,
    `gateway/${name} in namespace "${namespace}"; select another with -n`,
  );
  const className = String(valueAt(gateway, "spec", "gatewayClassName"));
  const gatewayClass = await read(
    api,
    `${GATEWAY_API}/gatewayclasses/${className}`,
    `the GatewayClass "${className}"`,
  );
  const controllerName = String(
    valueAt(gatewayClass, "spec", "controllerName"),
  );
  return { [SERVES_LABEL]: controllerId(controllerName) };
}

async function listPods(
  api: KubernetesApi,
  labels: Readonly<Record<string, string>>,
): Promise<readonly GatewayPod[]> {
  const selector = Object.entries(labels).map(([name, value]) =>
    `${name}=${value}`
  ).join();
  const list = await read(
    api,
    `/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`,
    "pods",
  );
  return objectsAt(list, "items").filter(isRunning).map((pod) => ({
    namespace: String(valueAt(pod, "metadata", "namespace")),
    name: String(valueAt(pod, "metadata", "name")),
  })).toSorted((a, b) => a.name.localeCompare(b.name));
}

function isRunning(pod: JsonObject): boolean {
  return valueAt(pod, "metadata", "deletionTimestamp") === undefined &&
    valueAt(pod, "status", "phase") === "Running";
}

/** Reads an object. @throws {Failure} When it does not exist, or may not be read. */
async function read(
  api: KubernetesApi,
  path: string,
  what: string,
): Promise<JsonObject> {
  const object = await api.find({ path });
  if (isJsonObject(object)) return object;
  throw new Failure(
    object === undefined
      ? `Cannot find ${what}`
      : `Cannot read ${what}: the response is no object`,
  );
}
