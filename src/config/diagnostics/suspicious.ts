import type { Diagnostic } from "./located_diagnostic.ts";
import { diagnose, type Placed } from "../placed.ts";

/** What is valid and hardly meant: a gateway without any route, a path that ends in a wildcard. */
export function findSuspicious(
  placed: readonly Placed[],
): readonly Diagnostic[] {
  return [...withoutRoutes(placed), ...placed.flatMap(wildcards)];
}

/** Policies can answer without a route, so they are reason enough for a gateway. */
function withoutRoutes(placed: readonly Placed[]): readonly Diagnostic[] {
  const answers = placed.some(({ resource: { kind } }) =>
    kind === "HTTPRoute" || kind === "GatewayPolicy"
  );
  const gateway = placed.find(({ resource }) => resource.kind === "Gateway");
  if (answers || gateway === undefined) return [];
  const message =
    'there are no routes, so every request is answered with 404; add "routes"';
  return [warning(gateway, [], message)];
}

function wildcards(item: Placed): readonly Diagnostic[] {
  if (item.resource.kind !== "HTTPRoute") return [];
  return item.resource.spec.rules.flatMap(({ matches }, rule) =>
    (matches ?? []).flatMap(({ path }, match) => {
      if (path?.type === "RegularExpression") return [];
      const [, prefix] = /^(.*)\/\*+$/.exec(path?.value ?? "") ?? [];
      if (prefix === undefined) return [];
      const way = ["spec", "rules", rule, "matches", match, "path", "value"];
      const message =
        `"*" is no wildcard in a path; write { type: PathPrefix, value: ${
          prefix || "/"
        } }, which covers all below it`;
      return [warning(item, way, message)];
    })
  );
}

function warning(
  item: Placed,
  path: readonly (string | number)[],
  message: string,
): Diagnostic {
  const at = path.length === 0 ? "key" : "value";
  return { ...diagnose(item, { path, at, message }), severity: "warning" };
}
