import { objectsAt, stringMember } from "../../base/json.ts";
import type { KubernetesApi } from "./kubernetes_api.ts";

/** Returns the versions in which the API server has a kind, such as `gateway.networking.k8s.io/v1alpha3`, by its name in paths. */
export async function servedVersions(
  api: KubernetesApi,
  apiVersion: string,
  plural: string,
): Promise<readonly string[]> {
  const [group = "", version] = apiVersion.split("/");
  if (version === undefined) return [];
  const found: string[] = [];
  for (const entry of await listOf(api, `/apis/${group}`, "versions")) {
    const served = stringMember(entry, "groupVersion") ?? "";
    const kinds = await listOf(api, `/apis/${served}`, "resources");
    if (kinds.some((kind) => kind["name"] === plural)) found.push(served);
  }
  return found;
}

async function listOf(api: KubernetesApi, path: string, field: string) {
  return objectsAt(await api.find({ path }), field);
}
