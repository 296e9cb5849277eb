import {
  isJsonObject,
  type JsonObject,
  objectAt,
  valueAt,
} from "../../base/json.ts";
import { parseYaml } from "../../base/yaml_library.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";

/** Settings of the proxies of a gateway, from the ConfigMaps of `parametersRef`. */
export interface ProxyParameters {
  /** Not set: the Deployment says nothing, so that an autoscaler can. */
  readonly replicas?: number;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly serviceType: string;
  /** Of the container. */
  readonly resources: JsonObject;
  /** More environment variables of the container. */
  readonly env: readonly JsonObject[];
  /** Names of annotations of `infrastructure` that pods get, or prefixes that end with `*`. */
  readonly podAnnotations: readonly string[];
  /** Fields of the specification of pods that say where they run; see `podFields`. */
  readonly pod: JsonObject;
}

/** Parameters of a gateway are invalid; the message names the ConfigMap and the key. */
export class ParametersError extends Error {
  override readonly name = "ParametersError";
}

const serviceTypes = ["LoadBalancer", "ClusterIP", "NodePort"];
/** Keys that authors of gateways may set. */
const openKeys = ["replicas", "serviceType", "resources"];
/** Keys of classes: proxies run in the namespace of the controller, with rights that authors of gateways do not have. */
const classKeys = [
  ...openKeys,
  ...["image", "imagePullPolicy", "env", "pod", "podAnnotations"],
  ...["maxReplicas", "maxResources"],
];
const pullPolicies = ["Always", "IfNotPresent", "Never"];
/** Fields of `pod`, with their types. */
const podFields: ReadonlyMap<string, "list" | "mapping" | "text"> = new Map([
  ["affinity", "mapping"],
  ["imagePullSecrets", "list"],
  ["nodeSelector", "mapping"],
  ["priorityClassName", "text"],
  ["tolerations", "list"],
  ["topologySpreadConstraints", "list"],
]);
const MAX_REPLICAS = 1000;
/** Bounds of the parameters of gateways, unless those of the class say otherwise. */
const DEFAULT_MAX_REPLICAS = 20;
const DEFAULT_MAX_RESOURCES = "{ cpu: 8, memory: 16Gi }";

/**
 * Reads the parameters of a gateway: those of its class, then its own, key by key.
 * @throws {ParametersError}
 */
export function readParameters(
  gateway: KubernetesObject,
  gatewayClass: KubernetesObject | undefined,
  configMaps: Iterable<KubernetesObject>,
): ProxyParameters {
  const byName = new Map<string, KubernetesObject>();
  for (const object of configMaps) byName.set(objectKey(object), object);
  const find = (
    owner: unknown,
    keys: readonly string[],
    namespace?: string,
  ) => dataOf(valueAt(owner, "parametersRef"), { namespace, byName, keys });
  const infrastructure = valueAt(gateway, "spec", "infrastructure");
  const ofClass = find(gatewayClass?.["spec"], classKeys);
  const own = find(infrastructure, openKeys, gateway.metadata.namespace);
  expectBounds(own, ofClass);
  return decode({ ...ofClass, ...own });
}

/** Checks what the author of a gateway asks for against the bounds of the operator. @throws {ParametersError} */
function expectBounds(own: JsonObject, ofClass: JsonObject): void {
  const maxReplicas = readReplicas(
    String(ofClass["maxReplicas"] || DEFAULT_MAX_REPLICAS),
  );
  const replicas = Number(own["replicas"] || 0);
  if (replicas > maxReplicas) {
    throw new ParametersError(
      `replicas: ${replicas} are more than ${maxReplicas}, the "maxReplicas" of the GatewayClass`,
    );
  }
  const max = readYaml(
    { maxResources: DEFAULT_MAX_RESOURCES, ...ofClass },
    "maxResources",
    isJsonObject,
    {},
  );
  const asked = readYaml(own, "resources", isResources, {});
  for (const amounts of Object.values(asked).filter(isJsonObject)) {
    for (const [name, amount] of Object.entries(amounts)) {
      const bound = max[name];
      if (bound === undefined) {
        throw new ParametersError(
          `resources: "${name}" is not in "maxResources" of the GatewayClass`,
        );
      }
      if (!(quantityOf(amount) <= quantityOf(bound))) {
        throw new ParametersError(
          `resources: "${name}" of ${String(amount)} is more than ${
            String(bound)
          }, the "maxResources" of the GatewayClass`,
        );
      }
    }
  }
}

const suffixes: ReadonlyMap<string, number> = new Map([
  ["m", 1e-3],
  ["", 1],
  ...["k", "M", "G", "T", "P", "E"].map((suffix, index) =>
    [suffix, 1000 ** (index + 1)] as const
  ),
  ...["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index) =>
    [suffix, 1024 ** (index + 1)] as const
  ),
]);

/** Returns the value of a quantity such as `500m` or `2Gi`; `NaN` if it is none, which no bound allows. */
function quantityOf(value: unknown): number {
  const [, number, suffix = ""] =
    /^(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  return Number(number) * (suffixes.get(suffix) ?? NaN);
}

/** Returns the data of the ConfigMap, empty without a reference. */
function dataOf(
  ref: unknown,
  { namespace, byName, keys }: {
    /** Of the gateway, which cannot refer to another one; a class names it. */
    readonly namespace: string | undefined;
    readonly byName: ReadonlyMap<string, KubernetesObject>;
    readonly keys: readonly string[];
  },
): JsonObject {
  if (!isJsonObject(ref)) return {};
  const { group, kind, name } = ref;
  if (group !== "" || kind !== "ConfigMap") {
    throw new ParametersError(
      `parametersRef: expected a ConfigMap of group "", got ${
        String(kind)
      } of "${String(group)}"`,
    );
  }
  const key = `${namespace ?? ref["namespace"]}/${name}`;
  const found = byName.get(key);
  if (found === undefined) {
    throw new ParametersError(`parametersRef: no ConfigMap "${key}"`);
  }
  const data = objectAt(found, "data");
  const unknown = Object.keys(data).find((each) => !keys.includes(each));
  if (unknown !== undefined) {
    const hint = classKeys.includes(unknown)
      ? "only the parameters of the GatewayClass can have it"
      : `expected ${keys.join(", ")}`;
    throw new ParametersError(`ConfigMap "${key}": key "${unknown}": ${hint}`);
  }
  return data;
}

function decode(data: JsonObject): ProxyParameters {
  const { replicas, image, serviceType = "LoadBalancer" } = data;
  const pullPolicy = String(data["imagePullPolicy"] ?? "");
  if (pullPolicy !== "" && !pullPolicies.includes(pullPolicy)) {
    throw new ParametersError(
      `imagePullPolicy: expected ${
        pullPolicies.join(", ")
      }, got "${pullPolicy}"`,
    );
  }
  if (!serviceTypes.includes(String(serviceType))) {
    throw new ParametersError(
      `serviceType: expected ${serviceTypes.join(", ")}, got "${serviceType}"`,
    );
  }
  return {
    serviceType: String(serviceType),
    resources: readYaml(data, "resources", isResources, {}),
    env: readYaml(data, "env", isEnv, []),
    pod: readYaml(data, "pod", isPod, {}),
    podAnnotations: String(data["podAnnotations"] ?? "").split(",")
      .map((name) => name.trim()).filter((name) => name !== ""),
    ...(pullPolicy !== "" && { imagePullPolicy: pullPolicy }),
    ...(typeof image === "string" && image !== "" && { image }),
    ...(replicas !== undefined && replicas !== "" &&
      { replicas: readReplicas(String(replicas)) }),
  };
}

function readReplicas(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= MAX_REPLICAS) return value;
  throw new ParametersError(
    `replicas: expected 0 to ${MAX_REPLICAS}, or "" to leave them to an autoscaler, got "${text}"`,
  );
}

/** Returns the value of a key that is YAML. */
function readYaml<Value>(
  data: JsonObject,
  key: string,
  isValid: (value: unknown) => value is Value,
  absent: Value,
): Value {
  const text = data[key];
  if (typeof text !== "string" || text.trim() === "") return absent;
  const message = `${key}: expected YAML such as "${examples.get(key)}"`;
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch (cause) {
    throw new ParametersError(message, { cause });
  }
  if (isValid(value)) return value;
  throw new ParametersError(message);
}

const examples: ReadonlyMap<string, string> = new Map([
  ["resources", "requests: { cpu: 500m, memory: 256Mi }"],
  ["env", "[{ name: LEVEL, value: info }]"],
  ["maxResources", DEFAULT_MAX_RESOURCES],
  ["pod", "nodeSelector: { pool: edge }"],
]);

function isResources(value: unknown): value is JsonObject {
  return isJsonObject(value) &&
    Object.entries(value).every(([name, amounts]) =>
      (name === "requests" || name === "limits") && isJsonObject(amounts)
    );
}

function isPod(value: unknown): value is JsonObject {
  return isJsonObject(value) &&
    Object.entries(value).every(([name, field]) => {
      switch (podFields.get(name)) {
        case "list":
          return Array.isArray(field) && field.every(isJsonObject);
        case "mapping":
          return isJsonObject(field);
        case "text":
          return typeof field === "string";
        case undefined:
          return false;
      }
    });
}

function isEnv(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) &&
    value.every((item: unknown) =>
      isJsonObject(item) && typeof item["name"] === "string"
    );
}
