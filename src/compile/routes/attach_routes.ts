import { GATEWAY_API_GROUP } from "../../api/resources/group.ts";
import type { HttpRoute, ParentRef } from "../../api/resources/http_route.ts";
import { nearest } from "../../api/schema/suggest.ts";
import { intersectHostnames } from "../../route/hostname.ts";
import { compareAge, fullName } from "../precedence.ts";
import type { ListenerSite } from "../listeners/listener_sites.ts";
import type { Report } from "../report.ts";

/** A route as one listener sees it. */
export interface AttachedRoute {
  readonly route: HttpRoute;
  /** Those of the route that the listener accepts too; empty for every host of the listener. */
  readonly hostnames: readonly string[];
}

/**
 * The routes of each listener, in order of precedence: oldest first, then by namespace and name.
 *
 * A host name stays as the route writes it and is not narrowed to the listener's: requests for other hosts never come here, and
 * "the largest number of characters in a matching hostname" is counted on the route's own (Gateway API, `HTTPRouteSpec.hostnames`).
 */
export function attachRoutes(
  routes: readonly HttpRoute[],
  sites: readonly ListenerSite[],
  report: Report,
): ReadonlyMap<ListenerSite, readonly AttachedRoute[]> {
  const attached = new Map<ListenerSite, AttachedRoute[]>(
    sites.map((site) => [site, []]),
  );
  for (const route of routes.toSorted(compareAge)) {
    for (const site of listenersFor(route, sites, report)) {
      const hostnames = acceptedHostnames(route, site);
      if (hostnames !== undefined) {
        attached.get(site)?.push({ route, hostnames });
      }
    }
  }
  return attached;
}

function listenersFor(
  route: HttpRoute,
  sites: readonly ListenerSite[],
  report: Report,
): ReadonlySet<ListenerSite> {
  const { parentRefs } = route.spec;
  const found = new Set<ListenerSite>();
  for (const [index, parentRef] of parentRefs.entries()) {
    const result = resolveParent(route, parentRef, sites);
    for (const site of result.sites) found.add(site);
    if (result.problem === undefined) continue;
    const path = ["spec", "parentRefs", index];
    const message = `Cannot attach the route: ${result.problem}`;
    report.warning(route, { path, message, suggestion: result.suggestion });
  }
  if (parentRefs.length === 0) {
    const message = sites.length === 0
      ? "Cannot attach the route: there is no gateway, so nothing listens"
      : "Cannot attach the route: it names no gateway";
    report.warning(route, { path: ["spec", "parentRefs"], message });
  }
  return found;
}

interface Resolution {
  readonly sites: readonly ListenerSite[];
  /** Error that explains why there are none. */
  readonly problem?: string;
  readonly suggestion?: string | undefined;
}

function resolveParent(
  route: HttpRoute,
  parentRef: ParentRef,
  sites: readonly ListenerSite[],
): Resolution {
  const { group, kind, name, sectionName, port } = parentRef;
  if (group !== GATEWAY_API_GROUP || kind !== "Gateway") {
    return { sites: [], problem: `kind "${kind}" cannot have routes` };
  }
  const gateway = `${parentRef.namespace ?? route.metadata.namespace}/${name}`;
  const all = sites.filter((site) => fullName(site.gateway) === gateway);
  if (all.length === 0) {
    const known = sites.map((site) => site.gateway.metadata.name);
    return {
      sites: [],
      problem: `gateway "${gateway}" not found`,
      suggestion: nearest(name, known),
    };
  }
  const chosen = all.filter(({ spec }) =>
    (sectionName === undefined || spec.name === sectionName) &&
    (port === undefined || spec.port === port)
  );
  if (chosen.length === 0) return noSuchListener(gateway, parentRef, all);
  const allowed = chosen.filter((site) => allowsRoute(site, route));
  if (allowed.length === 0) {
    return { sites: [], problem: `gateway "${gateway}" does not allow it` };
  }
  const fitting = allowed.filter((site) =>
    acceptedHostnames(route, site) !== undefined
  );
  return fitting.length > 0 ? { sites: fitting } : {
    sites: [],
    problem:
      `no listener of gateway "${gateway}" has a hostname in common with it`,
  };
}

function noSuchListener(
  gateway: string,
  { sectionName, port }: ParentRef,
  sites: readonly ListenerSite[],
): Resolution {
  const wanted = [
    ...(sectionName === undefined ? [] : [`name "${sectionName}"`]),
    ...(port === undefined ? [] : [`port ${port}`]),
  ];
  return {
    sites: [],
    problem: `gateway "${gateway}" has no listener with ${
      wanted.join(" and ")
    }`,
    suggestion: sectionName &&
      nearest(sectionName, sites.map(({ spec }) => spec.name)),
  };
}

/** Gateway API, `AllowedRoutes`. A selector of namespaces selects none: there are no Namespace resources to look at. */
function allowsRoute(
  { gateway, spec }: ListenerSite,
  route: HttpRoute,
): boolean {
  const { namespaces, kinds } = spec.allowedRoutes ?? {};
  const isKindAllowed = kinds === undefined ||
    kinds.some(({ group = GATEWAY_API_GROUP, kind }) =>
      group === GATEWAY_API_GROUP && kind === "HTTPRoute"
    );
  const from = namespaces?.from ?? "Same";
  const isNamespaceAllowed = from === "All" ||
    (from === "Same" &&
      gateway.metadata.namespace === route.metadata.namespace);
  return isKindAllowed && isNamespaceAllowed;
}

/** `undefined` when the route has host names and the listener accepts none of them. */
function acceptedHostnames(
  { spec }: HttpRoute,
  { hostname }: ListenerSite,
): readonly string[] | undefined {
  const own = spec.hostnames ?? [];
  if (own.length === 0) return [];
  const accepted = own.filter((name) =>
    intersectHostnames(hostname, name) !== undefined
  );
  return accepted.length > 0 ? accepted : undefined;
}
