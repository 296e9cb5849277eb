import { isJsonObject } from "../../src/base/json.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import {
  isKubernetesObject,
  type KubernetesObject,
} from "../../src/cluster/client/kubernetes_object.ts";
import { parseAllYaml } from "../../src/base/yaml_library.ts";

const MANAGER = "tests";

/** Applies the objects of YAML texts in order, and waits until the kinds that they define can be used. */
export async function install(
  api: KubernetesApi,
  texts: readonly string[],
  { dryRun = false, isStrict = false }: {
    readonly dryRun?: boolean;
    /** Unknown fields are errors. */
    readonly isStrict?: boolean;
  } = {},
): Promise<void> {
  const objects = texts.flatMap((text) =>
    parseAllYaml(text).filter(isKubernetesObject)
  );
  for (const object of objects) {
    if (dryRun) await checkObject(api, object);
    else if (isStrict) await applyStrictly(api, object);
    else await api.apply(pathOf(object), MANAGER, object);
  }
  if (dryRun) return;
  const definitions = objects.filter(({ kind }) =>
    kind === "CustomResourceDefinition"
  );
  for (const definition of definitions) {
    while (!isEstablished(await api.request({ path: pathOf(definition) }))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Lets the API server validate an object without storing it. */
async function checkObject(
  api: KubernetesApi,
  object: KubernetesObject,
): Promise<void> {
  await applyStrictly(api, object, "&dryRun=All");
}

async function applyStrictly(
  api: KubernetesApi,
  object: KubernetesObject,
  query = "",
): Promise<void> {
  await api.request({
    method: "PATCH",
    path: `${
      pathOf(object)
    }?fieldManager=${MANAGER}&force=true&fieldValidation=Strict${query}`,
    body: object,
    contentType: "application/apply-patch+yaml",
  });
}

/** Returns the path of an object; its plural is derived from the kind. */
export function pathOf(
  { apiVersion = "v1", kind = "", metadata }: KubernetesObject,
): string {
  const root = apiVersion.includes("/") ? "/apis" : "/api";
  const plural = `${
    kind.toLowerCase().replace(/(s|ch|x)$/, "$1e").replace(
      /([^aeiou])y$/,
      "$1ie",
    )
  }s`;
  const folder = metadata.namespace === undefined
    ? ""
    : `/namespaces/${metadata.namespace}`;
  return `${root}/${apiVersion}${folder}/${plural}/${metadata.name}`;
}

function isEstablished(definition: unknown): boolean {
  const status = isJsonObject(definition) ? definition["status"] : undefined;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) &&
    conditions.some((each) =>
      each.type === "Established" && each.status === "True"
    );
}
