import { GATEWAY_API_GROUP } from "../../api/schema/group.ts";
import type { HttpRoute, ParentRef } from "../../api/resources/http_route.ts";
import { nearest } from "../../api/schema/suggest.ts";
import { intersectHostnames } from "../../route/hostname.ts";
import type { ListenerSite } from "./listener_sites.ts";
import type { Attached } from "./attach_policies.ts";
import type { Inputs } from "../resolve/references.ts";
import type { ConditionReason, Report } from "../memory/report.ts";

/** A listener that serves a route. */
export interface RouteSite {
  readonly site: ListenerSite;
  /** Hostnames of the route that the listener accepts; empty for all hostnames of the listener. */
  readonly hostnames: readonly string[];
}

/** Dependencies of attaching routes. */
export interface AttachmentContext {
  readonly inputs: Inputs;
  readonly attached: Attached;
  readonly report: Report;
}

/**
 * Returns the listeners of a route.
 *
 * Hostnames of routes are not narrowed to those of the listener: requests for other hosts never reach the route, and "the largest
 * number of characters in a matching hostname" refers to the hostname of the route (Gateway API, `HTTPRouteSpec.hostnames`).
 */
export function attachRoute(
  route: HttpRoute,
  context: AttachmentContext,
): readonly RouteSite[] {
  return [...listenersFor(route, context)].flatMap((site) => {
    const hostnames = acceptedHostnames(route, site);
    return hostnames === undefined ? [] : [{ site, hostnames }];
  });
}

function listenersFor(
  route: HttpRoute,
  context: AttachmentContext,
): ReadonlySet<ListenerSite> {
  const { parentRefs } = route.spec;
  const { attached, report } = context;
  const found = new Set<ListenerSite>();
  for (const [index, parentRef] of parentRefs.entries()) {
    const result = resolveParent(route, parentRef, context);
    for (const site of result.sites) found.add(site);
    if (result.problem === undefined) continue;
    const path = ["spec", "parentRefs", index];
    const message = `Cannot attach the route: ${result.problem}`;
    const { reason, suggestion } = result;
    report.warning(route, { path, message, suggestion, reason });
  }
  if (parentRefs.length === 0) {
    const message = parentsOf(attached).length === 0
      ? "Cannot attach the route: there is no gateway, so nothing listens"
      : "Cannot attach the route: it names no gateway";
    report.warning(route, { path: ["spec", "parentRefs"], message });
  }
  return found;
}

/** Kinds that routes attach to, as messages name them. */
const nouns = new Map([["Gateway", "gateway"], [
  "ListenerSet",
  "listener set",
]]);

/** Lists the keys of all gateways and listener sets. */
function parentsOf(attached: Attached): readonly string[] {
  return attached.read(({ sites }) => [...sites.keys()]);
}

interface Resolution {
  readonly sites: readonly ListenerSite[];
  /** Error that explains why there are none. */
  readonly problem?: string;
  /** `undefined` when the parent is not known. */
  readonly reason?: ConditionReason;
  readonly suggestion?: string | undefined;
}

function resolveParent(
  route: HttpRoute,
  parentRef: ParentRef,
  { inputs, attached }: AttachmentContext,
): Resolution {
  const { group, kind, name, sectionName, port } = parentRef;
  const noun = nouns.get(kind);
  if (group !== GATEWAY_API_GROUP || noun === undefined) {
    return { sites: [], problem: `kind "${kind}" cannot have routes` };
  }
  const key = `${parentRef.namespace ?? route.metadata.namespace}/${name}`;
  const parent = `${noun} "${key}"`;
  const all = attached.read(({ sites }) => sites.get(`${kind}/${key}`));
  if (all === undefined) {
    const known = parentsOf(attached).map((each) => each.split("/"))
      .filter(([own]) => own === kind).map(([, , own = ""]) => own);
    return {
      sites: [],
      problem: `${parent} not found`,
      suggestion: nearest(name, known),
    };
  }
  const chosen = all.filter(({ spec }) =>
    (sectionName === undefined || spec.name === sectionName) &&
    (port === undefined || spec.port === port)
  );
  if (chosen.length === 0) return noSuchListener(parent, parentRef, all);
  const allowed = chosen.filter((site) => allowsRoute(site, route, inputs));
  if (allowed.length === 0) {
    return {
      sites: [],
      reason: "NotAllowedByListeners",
      problem: `${parent} does not allow it`,
    };
  }
  const fitting = allowed.filter((site) =>
    acceptedHostnames(route, site) !== undefined
  );
  return fitting.length > 0 ? { sites: fitting } : {
    sites: [],
    reason: "NoMatchingListenerHostname",
    problem: `no listener of ${parent} has a hostname in common with it`,
  };
}

function noSuchListener(
  parent: string,
  { sectionName, port }: ParentRef,
  sites: readonly ListenerSite[],
): Resolution {
  const wanted = [
    ...(sectionName === undefined ? [] : [`name "${sectionName}"`]),
    ...(port === undefined ? [] : [`port ${port}`]),
  ];
  return {
    sites: [],
    reason: "NoMatchingParent",
    problem: wanted.length === 0
      ? `${parent} has no valid listener`
      : `${parent} has no listener with ${wanted.join(" and ")}`,
    suggestion: sectionName &&
      nearest(sectionName, sites.map(({ spec }) => spec.name)),
  };
}

/** Implements `AllowedRoutes` of the Gateway API. */
function allowsRoute(
  { owner, spec }: ListenerSite,
  route: HttpRoute,
  inputs: Inputs,
): boolean {
  const { namespaces, kinds } = spec.allowedRoutes ?? {};
  const isKindAllowed = kinds === undefined ||
    kinds.some(({ group = GATEWAY_API_GROUP, kind }) =>
      group === GATEWAY_API_GROUP && kind === route.kind
    );
  return isKindAllowed &&
    inputs.read(({ references }) =>
      references.allowsNamespace({ from: "Same", ...namespaces }, {
        owner: owner.metadata.namespace,
        namespace: route.metadata.namespace,
      })
    );
}

/** Returns `undefined` when the route has hostnames and the listener accepts none of them. */
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
