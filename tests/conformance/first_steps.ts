import { isJsonObject } from "../../src/base/json.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import { install } from "./install.ts";

const MANIFESTS = "examples/cluster_mcp.yaml";
const MANUAL = "docs/kubernetes.md";
const GATEWAY =
  "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/agents";
const POLICY =
  "/apis/policy.gateway.internal/v1alpha1/namespaces/default/gatewaypolicies/mcp";
const TIME_LIMIT_MS = 60_000;

/** Applies the manifests of the manual and sends a request without a token, as a new user does. */
export async function followFirstSteps(api: KubernetesApi) {
  const [, expected = "not documented"] =
    /^www-authenticate: (.*)$/m.exec(await Deno.readTextFile(MANUAL)) ?? [];
  await install(api, [await Deno.readTextFile(MANIFESTS)]);
  const address = await until(async () =>
    firstOf(await statusOf(api, GATEWAY), "addresses")?.["value"]
  );
  const found = await until(() => challengeAt(`http://${address}:8080/mcp`));
  const accepted = await until(async () => {
    const ancestor = firstOf(await statusOf(api, POLICY), "ancestors");
    const condition = firstOf(ancestor, "conditions");
    return condition?.["type"] === "Accepted" ? condition["status"] : undefined;
  });
  await api.request({ method: "DELETE", path: GATEWAY });
  return [
    {
      name: `manual: 401 with ${found}`,
      isPassed: found === `401 ${expected}`,
    },
    { name: "manual: the policy is accepted", isPassed: accepted === "True" },
  ];
}

/** Returns status and challenge of a request without a token; `undefined` when nothing answers. */
async function challengeAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    const { status, headers } = response;
    // Until the route is in force.
    if (status === 404) return undefined;
    return `${status} ${headers.get("www-authenticate")}`;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function statusOf(api: KubernetesApi, path: string): Promise<unknown> {
  const object = await api.request({ path });
  return isJsonObject(object) ? object["status"] : undefined;
}

function firstOf(owner: unknown, list: string) {
  const items = isJsonObject(owner) ? owner[list] : undefined;
  return Array.isArray(items) ? items.find(isJsonObject) : undefined;
}

/** Repeats `look` until it finds something. @throws {Error} After a minute. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + TIME_LIMIT_MS;
  while (Date.now() < deadline) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Not found within ${TIME_LIMIT_MS} ms: ${look}`);
}
