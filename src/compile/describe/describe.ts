import { formatHostPort } from "../../base/wire/host_port.ts";
import { REDACTION_MARKER } from "../../base/redaction.ts";
import type {
  GatewayPolicy,
  PolicySchemas,
} from "../../api/resources/gateway_policy_schema.ts";
import { resourceKey } from "../../api/resources/resource_set.ts";
import { httpMatchSchema } from "../../api/rules/http_match.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Port } from "../../snapshot/snapshot.ts";
import type {
  CompiledListener,
  CompiledModel,
  EffectivePolicy,
  ServedRule,
} from "../policies/compiled_rules.ts";
import { describeBackend } from "./describe_backend.ts";
import { namespacedName } from "../resolve/precedence.ts";
import type { Redact } from "../../api/redact_configuration.ts";

/** Description of the data plane in `/config_dump`, as plain JSON. */
export type Description = ReturnType<typeof describe> extends
  Generator<void, infer Result> ? Result : never;

/** Description while no configuration is in force. */
export const emptyDescription: Description = {
  binds: [],
  listeners: [],
  routes: [],
  backends: [],
  policies: [],
};

/** Describes a compiled configuration in steps, for it may be large; secrets are redacted, private keys do not appear. */
export function* describe(
  { resources, ports, listeners, backends, policies }: CompiledModel,
  redact: Redact,
) {
  const routes = listeners.flatMap(({ listener, rules }) =>
    rules.map((rule) => ({ rule, listener: listener.key }))
  );
  return {
    binds: ports.map(describePort),
    listeners: yield* mapInSteps(
      listeners,
      (listener) => describeListener(listener, redact),
    ),
    routes: yield* mapInSteps(
      routes,
      ({ rule, listener }) => describeRule(rule, listener, redact),
    ),
    backends: yield* describeBackends({ listeners, backends }),
    policies: yield* mapInSteps(
      resources.gatewayPolicies,
      (policy) => describeResource(policy, policies.schemas, redact),
    ),
  };
}

/** Describes all backends, in steps. */
export function describeBackends(
  { listeners, backends }: Pick<CompiledModel, "listeners" | "backends">,
) {
  return mapInSteps(
    [...backends.values(), ...webUisOf(listeners)],
    describeBackend,
  );
}

/** Maps a long list, in steps. */
export function* mapInSteps<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Generator<void, Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(map(item));
    yield;
  }
  return results;
}

function describeResource(
  policy: GatewayPolicy,
  schemas: PolicySchemas,
  redact: Redact,
) {
  return {
    key: namespacedName(policy),
    targetRefs: policy.spec.targetRefs,
    phase: policy.spec.phase,
    traffic: redact(schemas.traffic, policy.spec.traffic),
    backend: redact(schemas.backend, policy.spec.backend),
  };
}

/** The web UI is a backend of those routes that serve it, and of no resource. */
function webUisOf(listeners: readonly CompiledListener[]): Iterable<Backend> {
  const uses = listeners.flatMap(({ rules }) =>
    rules.flatMap(({ route }) => route.backends)
  );
  return new Set(
    uses.flatMap(({ backend }) => backend?.webUi ? [backend] : []),
  );
}

function describePort({ key, port, address, tls, listeners, ...limits }: Port) {
  return {
    key: `bind/${key}`,
    address: formatHostPort(address ?? "::", port),
    protocol: tls === undefined ? "http" : "tls",
    maxConnections: limits.maxConnections,
    maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
    minRequestBodyRate: limits.minRequestBodyRate,
    minResponseBodyRate: limits.minResponseBodyRate,
    timeouts: limits.timeouts,
    tls: tls && {
      certificates: tls.certificates.map(({ hostnames }) => ({
        hostnames,
        key: REDACTION_MARKER,
      })),
      clientCertificate: tls.clientCertificate,
      minVersion: tls.minVersion,
    },
    listeners: listeners.map(({ key }) => key),
  };
}

/** Describes a listener and its policies. */
export function describeListener(
  { site, listener, effective, rules }: CompiledListener,
  redact: Redact,
) {
  const { namespace, name } = site.gateway.metadata;
  return {
    key: listener.key,
    gatewayName: name,
    gatewayNamespace: namespace,
    ...(site.owner !== site.gateway &&
      { listenerSet: namespacedName(site.owner) }),
    listenerName: listener.name,
    hostname: listener.hostname,
    port: site.spec.port,
    protocol: site.spec.protocol,
    policies: effective.flatMap((policy) => describePolicy(policy, redact)),
    routes: rules.map(({ route }) => route.key),
  };
}

/** Describes a rule of a route and the policies in force for it. */
export function describeRule(
  { rule, route, effective, hostnames }: ServedRule,
  listener: string,
  redact: Redact,
) {
  const { namespace, name } = rule.route.metadata;
  const { loadBalancing, failover, hedging } = rule.spec;
  return {
    key: route.key,
    name,
    namespace,
    ruleName: rule.spec.name,
    listener,
    hostnames,
    matches: rule.spec.matches?.map((match) => redact(httpMatchSchema, match)),
    backends: route.backends.map(({ weight, priority, backend, problem }) => ({
      weight,
      ...(route.groups !== undefined && route.groups.length > 1 &&
        { priority }),
      backend: backend?.key,
      problem,
    })),
    ...(loadBalancing && { loadBalancing }),
    ...(failover && { failover }),
    ...(hedging && { hedging }),
    mirrors: route.mirrors.map(({ backend, fraction }) => ({
      backend: backend.key,
      fraction,
    })),
    timeouts: {
      requestMs: route.requestTimeoutMs,
      backendRequestMs: route.backendTimeoutMs,
    },
    retry: route.retry &&
      {
        ...route.retry,
        codes: [...route.retry.codes],
        errors: [...route.retry.errors],
      },
    policies: effective.flatMap((policy) => describePolicy(policy, redact)),
  };
}

/** Returns an entry for each place that contributes to a policy, in the order in which they run. */
export function describePolicy(
  { kind, layers }: EffectivePolicy,
  redact: Redact,
) {
  return layers.map(({ resource, traffic }) => ({
    kind: kind.name,
    source: resourceKey(resource),
    config: redact(kind.schema, traffic[kind.name]),
  }));
}
