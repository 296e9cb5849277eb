import type { Diagnostic } from "./located_diagnostic.ts";
import { diagnose, type Placed } from "../placed.ts";

/** Lints: valid but probably unintended, such as a gateway without routes or a path that ends in a wildcard. */
export function lint(
  placed: readonly Placed[],
): readonly Diagnostic[] {
  return [...withoutRoutes(placed), ...placed.flatMap(wildcards)];
}

/** Reports a gateway without routes and policies; policies can respond without a route. */
function withoutRoutes(placed: readonly Placed[]): readonly Diagnostic[] {
  const canRespond = placed.some(({ resource: { kind } }) =>
    kind === "HTTPRoute" || kind === "GatewayPolicy"
  );
  const gateway = placed.find(({ resource }) => resource.kind === "Gateway");
  if (canRespond || gateway === undefined) return [];
  const message =
    'no routes are configured, so every request gets 404; add "routes"';
  return [warning(gateway, [], message)];
}

function wildcards(item: Placed): readonly Diagnostic[] {
  if (item.resource.kind !== "HTTPRoute") return [];
  return item.resource.spec.rules.flatMap(({ matches }, rule) =>
    (matches ?? []).flatMap(({ path }, match) => {
      if (path?.type === "RegularExpression") return [];
      const [, prefix] = /^(.*)\/\*+$/.exec(path?.value ?? "") ?? [];
      if (prefix === undefined) return [];
      const at = ["spec", "rules", rule, "matches", match, "path", "value"];
      const message =
        `"*" in a path is not a wildcard; to match all paths below, write { type: PathPrefix, value: ${
          prefix || "/"
        } }`;
      return [warning(item, at, message)];
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
