import type { Resource } from "../../api/resources/resource_set.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** A reference of a resource to what it needs. */
export interface Needed {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Kinds that a resource may need; references to others say where it belongs. */
const neededKinds: readonly string[] = [
  "Service",
  "GatewayBackend",
  "Secret",
  "ConfigMap",
];

/** References by resource; resources never change. */
const known = new WeakMap<Resource, readonly Needed[]>();

/** Returns the references in the `spec` of a resource: members `…Ref` and `…Refs`, at any depth. */
export function referencesOf(resource: Resource): readonly Needed[] {
  return known.getOrInsertComputed(
    resource,
    () => "spec" in resource ? [...find(resource.spec, resource.metadata)] : [],
  );
}

function* find(
  value: unknown,
  owner: { readonly namespace: string },
): Generator<Needed> {
  if (Array.isArray(value)) {
    for (const item of value) yield* find(item, owner);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    // The targets of a policy do not become part of a gateway with it.
    if (name === "targetRefs") continue;
    const refs = name.endsWith("Ref")
      ? [member]
      : name.endsWith("Refs") && Array.isArray(member)
      ? member
      : [];
    for (const ref of refs) {
      if (isJsonObject(ref)) yield* read(ref, name, owner);
    }
    // Filters of a backendRef have references too.
    yield* find(member, owner);
  }
}

function* read(
  ref: JsonObject,
  field: string,
  owner: { readonly namespace: string },
): Generator<Needed> {
  const { group = "", name, namespace = owner.namespace } = ref;
  const kind = ref["kind"] ?? defaultKind(field);
  if (typeof name !== "string" || !neededKinds.includes(String(kind))) return;
  yield {
    ...{ name, group: String(group), kind: String(kind) },
    namespace: String(namespace),
  };
}

function defaultKind(field: string): string {
  return field.startsWith("ca") ? "ConfigMap" : "Secret";
}
