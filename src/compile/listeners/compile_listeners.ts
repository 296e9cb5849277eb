import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import {
  createRouteTable,
  createRouteTableInSteps,
} from "../../route/route_table.ts";
import type { Listener } from "../../snapshot/snapshot.ts";
import { type AttachedRoute, attachRoutes } from "../routes/attach_routes.ts";
import type { CompiledListener, Rule, ServedRule } from "../compiled_model.ts";
import { describeLater } from "../describe/describe_effective.ts";
import {
  type EffectivePolicy,
  mergePolicies,
} from "../policies/effective_policy.ts";
import type { ForwardingContext } from "../routes/compile_forwarding.ts";
import {
  type ListenerSite,
  listListeners,
  targetsOf,
} from "./listener_sites.ts";
import { wellKnownEntries } from "../policies/well_known_entries.ts";
import {
  compileRule,
  levelAt,
  prepareRules,
  reportConflict,
} from "../routes/route_rules.ts";

/** Compiles every listener with its attached routes and gateway-phase policies, in steps. */
export function* compileListeners(
  resources: ResourceSet,
  context: ForwardingContext,
): Generator<void, readonly CompiledListener[]> {
  const rules = new Map<HttpRoute, readonly Rule[]>();
  for (const route of resources.httpRoutes) {
    rules.set(route, prepareRules(route, context));
    yield;
  }
  const sites = listListeners(resources, context);
  const attached = yield* attachRoutes(resources, sites, context);
  const listeners: CompiledListener[] = [];
  for (const site of sites) {
    const served = yield* compileRules(
      site,
      attached.get(site) ?? [],
      { rules, context },
    );
    const effective = gatewayPolicies(site, context);
    const listener = yield* createListener(
      site,
      { served, effective, context },
    );
    listeners.push({ site, effective, rules: served, listener });
  }
  return listeners;
}

function* compileRules(
  site: ListenerSite,
  attached: readonly AttachedRoute[],
  { rules, context }: {
    readonly rules: ReadonlyMap<HttpRoute, readonly Rule[]>;
    readonly context: ForwardingContext;
  },
): Generator<void, readonly ServedRule[]> {
  const served: ServedRule[] = [];
  for (const { route, hostnames } of attached) {
    for (const rule of rules.get(route) ?? []) {
      served.push({ ...compileRule(rule, site, context), hostnames });
      yield;
    }
  }
  return served;
}

/** Merges the policies that run before routing: those of the listener are more specific than those of its gateway. */
function gatewayPolicies(
  site: ListenerSite,
  context: ForwardingContext,
): readonly EffectivePolicy[] {
  const { attachments } = context;
  return mergePolicies(
    targetsOf(site).map((target) => levelAt(attachments, target, "PreRouting")),
    context.policies.running("gateway"),
    reportConflict(context),
  );
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
    describePolicies: describeLater(
      effective.map(({ kind: { name }, layers }) => ({ name, layers })),
      context.policies.running("gateway"),
      context.environment,
    ),
    routes: yield* createRouteTableInSteps([
      ...served.map(({ rule, route, hostnames }) => ({
        hostnames,
        matches: rule.spec.matches,
        value: route,
      })),
      ...documents,
    ]),
    fallbacks: fallbacks.length === 0 ? undefined : createRouteTable(fallbacks),
  };
}
