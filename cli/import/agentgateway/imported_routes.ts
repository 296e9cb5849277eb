import { type BackendContext, importBackends } from "./imported_backends.ts";
import { importMirrors } from "./imported_mirrors.ts";
import {
  importPolicies,
  type PolicyImport,
  rejectRestrictions,
} from "./imported_policies.ts";
import { rejectToolRules } from "./imported_targets.ts";
import { closed, type RouteImport } from "../parts/imported_configuration.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Surroundings of a route in the file. */
export interface RouteContext {
  readonly gateways: readonly string[];
  /** Host of its listener. */
  readonly hostname: string | undefined;
  /** Policies of its gateway and listener. */
  readonly inherited: readonly SourceNode[];
  readonly named: BackendContext["named"];
}

/** Imports a route. */
export function importRoute(
  source: SourceNode,
  name: string,
  context: RouteContext,
): RouteImport {
  const policies = source.get("policies");
  const imported = importPolicies([...context.inherited, policies]);
  const { backends, named, missing } = importBackends(source.get("backends"), {
    route: name,
    named: context.named,
    policies,
  });
  const hostnames = source.get("hostnames")?.texts() ?? [];
  const inherited = context.hostname === undefined || context.hostname === "*"
    ? []
    : [context.hostname];
  const hosts = hostnames.length > 0 ? hostnames : inherited;
  const matches = source.get("matches")?.items().map(importMatch);
  const start = {
    name,
    gateways: context.gateways,
    ...(hosts.length > 0 && { hostnames: hosts }),
    matches,
  };
  const guards = rejectRestrictions(policies?.get("ai"));
  const sources = [...context.inherited, policies];
  const lacking = [
    ...imported.missing,
    ...missing,
    ...guards,
    ...rejectToolRules(sources, backends),
  ];
  if (lacking.length > 0) {
    const route = {
      ...closed(start, lacking, imported.policies),
      ...listed(backends),
    };
    return { route, source, backends: named };
  }
  const mirrors = importMirrors(sources, name);
  const { filters } = mirrors;
  const route = {
    ...start,
    ...(filters.length > 0 && { filters }),
    ...open(imported, backends),
  };
  return { route, source, backends: [...named, ...mirrors.backends] };
}

function open(
  { policies, timeouts, retry }: PolicyImport,
  backends: readonly unknown[],
) {
  return {
    timeouts,
    retry,
    ...(Object.keys(policies).length > 0 && { policies }),
    ...listed(backends),
  };
}

function listed(backends: readonly unknown[]) {
  return backends.length > 0 ? { backends } : {};
}

/** Imports one of the conditions of a route. */
export function importMatch(source: SourceNode) {
  const path = source.get("path");
  const [type, value] = (["exact", "pathPrefix", "regex"] as const)
    .map((name) => [pathTypes[name], path?.get(name)?.text()] as const)
    .find(([, value]) => value !== undefined) ?? [];
  return {
    path: type && { type, value },
    ...conditions("headers", source.get("headers")),
    ...conditions("queryParams", source.get("query")),
    ...method(source.get("method")),
  };
}

const pathTypes = {
  exact: "Exact",
  pathPrefix: "PathPrefix",
  regex: "RegularExpression",
} as const;

function conditions(name: string, source: SourceNode | undefined) {
  if (source === undefined) return {};
  return {
    [name]: source.items().map((item) => {
      const value = item.get("value");
      const regex = value?.get("regex")?.text();
      return {
        name: item.get("name")?.text(),
        ...(regex !== undefined && { type: "RegularExpression" }),
        value: regex ?? value?.get("exact")?.text(),
      };
    }),
  };
}

function method(source: SourceNode | undefined) {
  const text = source?.text() ?? source?.get("method")?.text();
  return text === undefined ? {} : { method: text };
}
