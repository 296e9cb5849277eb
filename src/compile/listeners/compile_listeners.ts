import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import { createRouteTable } from "../../route/route_table.ts";
import type { Listener } from "../../snapshot/snapshot.ts";
import { type AttachedRoute, attachRoutes } from "../routes/attach_routes.ts";
import type { CompiledListener, Rule, ServedRule } from "../compiled_model.ts";
import { describeLater } from "../describe/describe_effective.ts";
import {
  type EffectivePolicy,
  mergePolicies,
} from "../policies/effective_policy.ts";
import type { ForwardingContext } from "../routes/compile_forwarding.ts";
import { type ListenerSite, listListeners } from "./listener_sites.ts";
import { wellKnownEntries } from "../policies/well_known_entries.ts";
import {
  compileRule,
  levelAt,
  prepareRules,
  reportConflict,
} from "../routes/route_rules.ts";

/** Every listener, with the routes that are attached to it and the policies of its gateway phase. */
export function compileListeners(
  { gateways, httpRoutes }: ResourceSet,
  context: ForwardingContext,
): readonly CompiledListener[] {
  const rules = new Map(
    httpRoutes.map((route) => [route, prepareRules(route, context)]),
  );
  const sites = listListeners(gateways, context.report);
  const attached = attachRoutes(httpRoutes, sites, context.report);
  return sites.map((site) => {
    const served = serve(site, attached.get(site) ?? [], { rules, context });
    const effective = gatewayPolicies(site, context);
    const listener = createListener(site, { served, effective, context });
    return { site, effective, rules: served, listener };
  });
}

function serve(
  site: ListenerSite,
  attached: readonly AttachedRoute[],
  { rules, context }: {
    readonly rules: ReadonlyMap<HttpRoute, readonly Rule[]>;
    readonly context: ForwardingContext;
  },
): readonly ServedRule[] {
  return attached.flatMap(({ route, hostnames }) =>
    (rules.get(route) ?? []).map((rule) => ({
      ...compileRule(rule, site, context),
      hostnames,
    }))
  );
}

/** Those that run before the route is known; what a listener has itself is more specific. */
function gatewayPolicies(
  { gateway, spec }: ListenerSite,
  context: ForwardingContext,
): readonly EffectivePolicy[] {
  const { attachments } = context;
  const target = { kind: "Gateway", resource: gateway } as const;
  return mergePolicies(
    [
      levelAt(attachments, { ...target, section: spec.name }, "PreRouting"),
      levelAt(attachments, target, "PreRouting"),
    ],
    context.policies.running("gateway"),
    reportConflict(context),
  );
}

function createListener(
  { gateway, spec, key, hostname }: ListenerSite,
  { served, effective, context }: {
    readonly served: readonly ServedRule[];
    readonly effective: readonly EffectivePolicy[];
    readonly context: ForwardingContext;
  },
): Listener {
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
    routes: createRouteTable([
      ...served.map(({ rule, route, hostnames }) => ({
        hostnames,
        matches: rule.spec.matches,
        value: route,
      })),
      ...wellKnownEntries(served),
    ]),
  };
}
