import {
  isJsonObject,
  type JsonObject,
  objectAt,
  objectsAt,
} from "../../src/base/json.ts";
import { POLICY_API_GROUP } from "../../src/api/schema/group.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import { openCluster } from "./for_proxies.ts";
import { printAs } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { exitCodes } from "../process/exit.ts";

/** Options of `gwctl get` and `gwctl status`. */
export interface ShowResourcesOptions {
  readonly output: "table" | "yaml" | "json";
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly kubeconfig?: string;
}

/** Kinds that have a status, by what users call them. */
export type ResourceKind = "gateways" | "routes" | "policies";

const GATEWAY_API = "gateway.networking.k8s.io/v1";

const collections: Readonly<Record<ResourceKind, readonly string[]>> = {
  gateways: [`${GATEWAY_API}/gateways`, `${GATEWAY_API}/listenersets`],
  routes: [`${GATEWAY_API}/httproutes`, `${GATEWAY_API}/grpcroutes`],
  policies: [
    `${POLICY_API_GROUP}/v1alpha1/gatewaypolicies`,
    `${GATEWAY_API}/backendtlspolicies`,
  ],
};

/** A resource at one gateway, with its conditions there. */
interface Row {
  readonly namespace: string;
  /** `HTTPRoute/mcp`, or `Gateway/gw/https` for a listener. */
  readonly name: string;
  /** The gateway, or the addresses of one. */
  readonly at: string;
  readonly conditions: readonly JsonObject[];
}

/** Prints resources of the cluster with their conditions. */
export async function showResources(
  options: ShowResourcesOptions,
  kinds: readonly ResourceKind[],
): Promise<void> {
  const objects = await readObjects(options, kinds);
  if (options.output !== "table") return await printAs(options.output, objects);
  const rows = objects.flatMap(rowsOf).filter(({ name }) =>
    // Listeners only where something is wrong with them.
    name.split("/").length === 2
  );
  await print(rows.length === 0 ? "No resources\n" : tableOfRows(rows));
}

/** Prints what is not accepted, programmed or resolved, and why; returns the exit code. */
export async function showProblems(
  options: ShowResourcesOptions,
): Promise<number> {
  const objects = await readObjects(options, [
    "gateways",
    "routes",
    "policies",
  ]);
  const rows = objects.flatMap(rowsOf).filter(({ conditions }) =>
    conditions.length === 0 || conditions.some(isProblem)
  );
  if (options.output !== "table") await printAs(options.output, rows);
  else {
    await print(
      rows.length === 0
        ? `No problems in ${objects.length} resources\n`
        : tableOfRows(rows),
    );
  }
  return rows.length === 0 ? exitCodes.ok : exitCodes.failure;
}

async function readObjects(
  { kubeconfig, namespace, allNamespaces }: ShowResourcesOptions,
  kinds: readonly ResourceKind[],
): Promise<readonly JsonObject[]> {
  using api = await openCluster(kubeconfig);
  const folder = allNamespaces === true
    ? ""
    : `namespaces/${namespace ?? api.access.namespace}/`;
  const paths = kinds.flatMap((kind) => collections[kind]).map((collection) => {
    const slash = collection.lastIndexOf("/") + 1;
    return `/apis/${collection.slice(0, slash)}${folder}${
      collection.slice(slash)
    }`;
  });
  const lists = await Promise.all(paths.map((path) => list(api, path)));
  return lists.flat();
}

/** Lists a collection; one that is not installed is empty. */
async function list(
  api: KubernetesApi,
  path: string,
): Promise<readonly JsonObject[]> {
  const response = await api.find({ path });
  const { kind, apiVersion } = objectAt(response);
  return objectsAt(response, "items").map((item) => ({
    ...item,
    kind: String(kind).replace(/List$/, ""),
    apiVersion,
  }));
}

/** Returns the conditions of a resource: its own, and those of its listeners, parents or ancestors. */
function rowsOf(object: JsonObject): readonly Row[] {
  const metadata = objectAt(object, "metadata");
  const status = objectAt(object, "status");
  const namespace = String(metadata["namespace"]);
  const name = `${object["kind"]}/${metadata["name"]}`;
  const entries = [
    ...objectsAt(status, "parents").map((entry) =>
      [entry, "parentRef"] as const
    ),
    ...objectsAt(status, "ancestors").map((entry) =>
      [entry, "ancestorRef"] as const
    ),
  ].map(([entry, ref]) => ({
    ...{ namespace, name },
    at: describeRef(entry[ref]),
    conditions: objectsAt(entry, "conditions"),
  }));
  if (entries.length > 0) return entries;
  return [
    {
      ...{ namespace, name },
      at: objectsAt(status, "addresses").map(({ value }) => value).join(),
      conditions: objectsAt(status, "conditions"),
    },
    ...objectsAt(status, "listeners").map((listener) => ({
      namespace,
      name: `${name}/${listener["name"]}`,
      at: `${listener["attachedRoutes"]} routes`,
      conditions: objectsAt(listener, "conditions"),
    })),
  ];
}

function describeRef(ref: unknown): string {
  if (!isJsonObject(ref)) return "";
  const { kind = "Gateway", name, sectionName } = ref;
  return [kind, name, sectionName].filter((part) => part !== undefined).join(
    "/",
  );
}

function tableOfRows(rows: readonly Row[]): string {
  return tableOf([
    ["NAMESPACE", "NAME", "AT", "STATUS", "MESSAGE"],
    ...rows.map(({ namespace, name, at, conditions }) =>
      [
        namespace,
        name,
        at,
        statusOf(conditions),
        conditions.filter(isProblem).map(({ message }) => message).join("; "),
      ].map((cell) => printable(String(cell)))
    ),
  ]);
}

/** Formats conditions: those that hold by their type, others with their reason. */
function statusOf(conditions: readonly JsonObject[]): string {
  if (conditions.length === 0) return "no controller";
  const problems = conditions.filter(isProblem);
  return (problems.length > 0
    ? problems.map(({ type, status, reason }) =>
      `${type}=${status} (${reason})`
    )
    : conditions.filter(({ status }) => status === "True").map(({ type }) =>
      type
    )).join(", ");
}

/** Conditions that say what is wrong while they hold. */
const negativeTypes: readonly unknown[] = [
  "Conflicted",
  "OverlappingTLSConfig",
  "PartiallyInvalid",
];

function isProblem({ type, status }: JsonObject): boolean {
  return status !== (negativeTypes.includes(type) ? "False" : "True");
}
