import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  stringMember,
} from "../../base/json.ts";

/** Copies a configuration dump without what the gateway derives; policies that are part of a route move there. */
export function writtenParts(dump: unknown): JsonObject {
  const rules = objectsAt(dump, "routes");
  const served = new Set(rules.map(routeOf));
  const policies = objectsAt(dump, "policies");
  const inline = new Map(
    policies.flatMap((policy) => {
      const route = ownerOf(policy);
      return route === undefined || !served.has(route)
        ? []
        : [[route, policy["traffic"]] as const];
    }),
  );
  return {
    ...isJsonObject(dump) ? dump : {},
    listeners: objectsAt(dump, "listeners").map((listener) => {
      const { routes: _attached, ...rest } = listener;
      return { ...rest, policies: ownParts(listener) };
    }),
    routes: [...Map.groupBy(rules, (rule) => stringMember(rule, "key"))]
      .flatMap(([, [rule, ...elsewhere]]) => {
        if (rule === undefined) return [];
        const { policies: _inForce, listener: _listener, ...rest } = rule;
        const listeners = [rule, ...elsewhere].map(({ listener }) => listener);
        const policies = inline.get(routeOf(rule)) ?? {};
        return [{ ...rest, listeners, filters: ownParts(rule), policies }];
      }),
    policies: policies.filter((policy) => !inline.has(ownerOf(policy) ?? "")),
  };
}

/** Returns the name of a rule's route: `default/a`. */
function routeOf(rule: JsonObject): string {
  return `${stringMember(rule, "namespace")}/${stringMember(rule, "name")}`;
}

/** Returns the route that a policy is part of: the loader names the policy `default/a/policies`. */
function ownerOf(policy: JsonObject): string | undefined {
  return /^(.+)\/policies$/.exec(stringMember(policy, "key") ?? "")?.[1];
}

/** Returns what a listener or rule does itself, such as its filters; policies of resources are shown there. */
function ownParts(item: JsonObject): JsonObject {
  const own = objectsAt(item, "policies").filter((policy) =>
    stringMember(policy, "source")?.startsWith("GatewayPolicy/") !== true
  );
  const kinds = Map.groupBy(
    own,
    (policy) => stringMember(policy, "kind") ?? "",
  );
  return Object.fromEntries(
    [...kinds].map(([kind, [first, ...others]]) => [
      kind,
      others.length === 0
        ? first?.["config"] ?? null
        : [first, ...others].map((each) => each?.["config"] ?? null),
    ]),
  );
}
