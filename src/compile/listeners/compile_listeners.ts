import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import { readsModel } from "../../route/route_match.ts";
import {
  createRouteTable,
  createRouteTableInSteps,
  type RouteEntry,
  RouteTableMemory,
} from "../../route/route_table.ts";
import type { Listener, Route } from "../../snapshot/snapshot.ts";
import { attachRoute } from "../attach/attach_routes.ts";
import type {
  CompiledListener,
  EffectivePolicy,
  ServedRule,
} from "../policies/compiled_rules.ts";
import { mergeForListener } from "../policies/effective_policy.ts";
import type { ForwardingContext } from "../routes/backend_references.ts";
import type { ListenerSite } from "../attach/listener_sites.ts";
import type { ResultTable } from "../memory/compile_memory.ts";
import { comparePrecedence } from "../resolve/precedence.ts";
import {
  checkPatterns,
  compileRule,
  prepareRules,
} from "../routes/route_rules.ts";
import { match, wellKnownEntries } from "./well_known_entries.ts";

/** Compiles every listener with its attached routes and gateway-phase policies, in steps. */
export function* compileListeners(
  { httpRoutes }: ResourceSet,
  sites: readonly ListenerSite[],
  context: ListenerContext,
): Generator<void, readonly CompiledListener[]> {
  const rules = new Map<ListenerSite, ServedRule[]>(
    sites.map((site) => [site, []]),
  );
  for (const route of httpRoutes.toSorted(comparePrecedence)) {
    const compiled = context.routes.recall(
      route,
      () => compileRoute(route, context),
    );
    for (const { site, served } of compiled) rules.get(site)?.push(...served);
    yield;
  }
  const listeners: CompiledListener[] = [];
  for (const site of sites) {
    const served = rules.get(site) ?? [];
    const effective = mergeForListener(site, context);
    const listener = yield* createListener(
      site,
      { served, effective, context },
    );
    listeners.push({ site, effective, rules: served, listener });
  }
  return listeners;
}

/** Dependencies of compiling listeners. */
interface ListenerContext extends ForwardingContext {
  readonly routes: RouteMemory;
}

/** Compiled routes by their resource. */
export type RouteMemory = ResultTable<HttpRoute, readonly RouteAtListener[]>;

/** The rules of a route as one listener serves them. */
interface RouteAtListener {
  readonly site: ListenerSite;
  readonly served: readonly ServedRule[];
}

const routeTables = new RouteTableMemory<Route>();

function compileRoute(
  route: HttpRoute,
  context: ForwardingContext,
): readonly RouteAtListener[] {
  checkPatterns(route, context);
  const sites = attachRoute(route, context);
  const rules = prepareRules(route, context);
  return sites.map(({ site, hostnames }) => ({
    site,
    served: rules.map((rule) => {
      const compiled = compileRule(rule, site, context);
      const { spec: { matches } } = rule;
      const entry = { hostnames, matches, value: compiled.route };
      return { ...compiled, hostnames, entry };
    }),
  }));
}

function* createListener(
  { gateway, spec, key, hostname }: ListenerSite,
  { served, effective, context }: {
    readonly served: readonly ServedRule[];
    readonly effective: readonly EffectivePolicy[];
    readonly context: ForwardingContext;
  },
): Generator<void, Listener> {
  const { documents, fallbacks } = wellKnownEntries(served);
  return {
    key,
    gateway: gateway.metadata.name,
    name: spec.name,
    hostname,
    policies: context.factory.createAll(effective, spec.port),
    describePolicies: context.describeLater(
      effective.map(({ kind: { name }, layers }) => ({ name, layers })),
      context.policies.running("gateway"),
    ),
    routes: yield* createRouteTableInSteps(
      [
        ...served.map(({ entry }) => entry),
        ...served.flatMap(ownPathEntry),
        ...documents,
      ],
      routeTables,
    ),
    readsModel: served.some(({ rule }) => rule.spec.matches.some(readsModel)),
    fallbacks: fallbacks.length === 0 ? undefined : createRouteTable(fallbacks),
  };
}

/** Returns a route to the paths at which the policies of a rule respond themselves, as a list; empty without them. */
function ownPathEntry(
  { route, hostnames, effective }: ServedRule,
): readonly RouteEntry<Route>[] {
  const paths = effective.flatMap(({ kind, layers }) =>
    layers.slice(0, 1).flatMap(({ traffic }) => kind.ownPaths(traffic))
  );
  return paths.length === 0 ? [] : [{
    hostnames,
    matches: paths.map((path) => match("Exact", path)),
    value: route,
  }];
}
