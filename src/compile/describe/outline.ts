import { resourceKey } from "../../api/resources/resource_set.ts";
import { httpMatchSchema } from "../../api/rules/http_match.ts";
import type { Redact } from "../../api/redact_configuration.ts";
import type {
  CompiledModel,
  EffectivePolicy,
  ServedRule,
} from "../policies/compiled_rules.ts";
import { namespacedName } from "../resolve/precedence.ts";
import {
  describeBackends,
  describeListener,
  describePolicy,
  describeRule,
  mapInSteps,
} from "./describe.ts";

/** The configuration as lists of thousands of routes show it. */
export type Outline = ReturnType<typeof outline> extends
  Generator<void, infer Result> ? Result : never;

/** Outline while no configuration is in force. */
export const emptyOutline: Outline = {
  listeners: [],
  routes: [],
  backends: [],
};

/** Outlines a compiled configuration in steps: routes have no values of policies. Secrets are redacted. */
export function* outline(model: CompiledModel, redact: Redact) {
  const rules = model.listeners.flatMap(({ rules }, listener) =>
    rules.map((rule) => ({ rule, listener }))
  );
  return {
    listeners: yield* mapInSteps(model.listeners, (listener) => {
      const { routes, ...described } = describeListener(listener, redact);
      return { ...described, routes: routes.length };
    }),
    routes: yield* mapInSteps(
      rules,
      ({ rule, listener }) => outlineRule(rule, listener, redact),
    ),
    backends: yield* describeBackends(model),
  };
}

/** @param listener Index of its listener. */
function outlineRule(
  { rule, route, effective, hostnames }: ServedRule,
  listener: number,
  redact: Redact,
) {
  return {
    key: route.key,
    name: rule.route.metadata.name,
    ruleName: rule.spec.name,
    listener,
    hostnames,
    matches: rule.spec.matches?.map((match) => redact(httpMatchSchema, match)),
    backends: route.backends.map(({ backend, problem }) => ({
      backend: backend?.key,
      problem,
    })),
    policies: kindsBySource(effective),
    ...(effective.some(isMcpLogin) && { isMcp: true }),
  };
}

/** Groups kinds of policies by the resources that they come from: most routes have one. */
function kindsBySource(effective: readonly EffectivePolicy[]) {
  const layers = effective.flatMap(({ kind, layers }) =>
    layers.map(({ resource }) => ({ kind: kind.name, resource }))
  );
  return [...Map.groupBy(layers, ({ resource }) => resourceKey(resource))]
    .map(([source, own]) => ({ source, kinds: own.map(({ kind }) => kind) }));
}

function isMcpLogin({ kind, layers }: EffectivePolicy): boolean {
  return kind.name === "jwtAuthentication" &&
    layers.some(({ traffic }) =>
      Object(traffic.jwtAuthentication).mcp !== undefined
    );
}

/** A route by its key, or a policy by its kind and the resource that it comes from. */
export type PartSelection =
  | { readonly route: string }
  | { readonly kind: string; readonly source: string };

/** Describes a part of the configuration that its outline only names; `undefined` when there is none. Secrets are redacted. */
export function describePart(
  { resources, listeners }: CompiledModel,
  redact: Redact,
  selection: PartSelection,
) {
  if ("route" in selection) {
    for (const { listener, rules } of listeners) {
      const rule = rules.find(({ route }) => route.key === selection.route);
      if (rule !== undefined) {
        return { route: describeRule(rule, listener.key, redact) };
      }
    }
    return undefined;
  }
  const { kind, source } = selection;
  const isOwn = (policy: EffectivePolicy) =>
    policy.kind.name === kind &&
    policy.layers.some(({ resource }) => resourceKey(resource) === source);
  const policy = listeners.flatMap(({ effective, rules }) => [
    effective.find(isOwn),
    ...rules.map(({ effective }) => effective.find(isOwn)),
  ]).find((each) => each !== undefined);
  if (policy === undefined) return undefined;
  const own = describePolicy(policy, redact).find((each) =>
    each.source === source
  );
  const resource = resources.gatewayPolicies.find((each) =>
    resourceKey(each) === source
  );
  return {
    policy: {
      config: own?.config,
      ...(resource !== undefined && {
        policy: {
          key: namespacedName(resource),
          targetRefs: resource.spec.targetRefs,
          phase: resource.spec.phase,
        },
      }),
    },
  };
}

/** A part of the configuration in full. */
export type DescribedPart = NonNullable<ReturnType<typeof describePart>>;
