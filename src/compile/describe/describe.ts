import { isCloudIdentity } from "../../identity/backend_tokens/backend_credentials.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import {
  createSensitiveHeaders,
  REDACTION_MARKER,
  redactUrl,
} from "../../base/redaction.ts";
import { mapInSlices } from "../../base/slices.ts";
import { httpMatchSchema } from "../../api/rules/http_match.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type {
  Backend,
  McpTarget,
  McpTransport,
  Port,
} from "../../snapshot/snapshot.ts";
import type {
  CompiledListener,
  CompiledModel,
  ServedRule,
} from "../policies/compiled_rules.ts";
import type { EffectivePolicy } from "../policies/effective_policy.ts";
import { namespacedName } from "../resolve/references.ts";
import {
  createRedaction,
  type Redact,
} from "../../api/redact_configuration.ts";

/** Description of the data plane in `/config_dump`, as plain JSON. */
export type Description = Awaited<ReturnType<typeof describe>>;

/** Description while no configuration is in force. */
export const emptyDescription: Description = {
  binds: [],
  listeners: [],
  routes: [],
  backends: [],
  policies: [],
};

/**
 * Describes a compiled configuration, a part at a time, for it may be large; secrets are redacted, private keys do not appear.
 */
export async function describe(
  { resources, ports, listeners, backends, policies }: CompiledModel,
  sensitiveHeaders: Iterable<string>,
) {
  const { schemas } = policies;
  const redact = createRedaction({
    sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    environment: resources.environment ?? [],
  });
  const served = listeners.flatMap(({ listener, rules }) =>
    rules.map((rule) => ({ rule, listener: listener.key }))
  );
  return {
    binds: ports.map(describePort),
    listeners: await mapInSlices(
      listeners,
      (listener) => describeListener(listener, redact),
    ),
    routes: await mapInSlices(
      served,
      ({ rule, listener }) => describeRule(rule, listener, redact),
    ),
    backends: await mapInSlices(
      [...backends.values(), ...webUisOf(listeners)],
      describeBackend,
    ),
    policies: await mapInSlices(
      resources.gatewayPolicies,
      (policy) => ({
        key: namespacedName(policy),
        targetRefs: policy.spec.targetRefs,
        phase: policy.spec.phase,
        traffic: redact(schemas.traffic, policy.spec.traffic),
        backend: redact(schemas.backend, policy.spec.backend),
      }),
    ),
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

function describeListener(
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

function describeRule(
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

/** One entry for each place that contributes, in the order in which they run. */
function describePolicy({ kind, layers }: EffectivePolicy, redact: Redact) {
  return layers.map(({ resource, traffic }) => ({
    kind: kind.name,
    source:
      `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`,
    config: redact(kind.schema, traffic[kind.name]),
  }));
}

function describeLlm({ name, place, authorization, ...llm }: LlmTarget) {
  return {
    provider: name,
    ...place,
    credentials: authorization && REDACTION_MARKER,
    model: llm.model,
    aliases: Object.fromEntries(llm.aliases),
    // Values may come from the environment.
    defaults: Object.keys(llm.changes.defaults),
    overrides: Object.keys(llm.changes.overrides),
    unsupported: llm.unsupported,
    api: llm.speaksResponses ? "Responses" : "ChatCompletions",
    promptCaching: llm.marksCaches ? "Auto" : "Client",
  };
}

/** Describes servers without the header fields that they get, which have credentials. */
function describeMcp({ servers, discovery }: McpTarget) {
  return {
    discovery,
    servers: servers.map(({ settings, transport }) => ({
      name: settings.name,
      ...describeTransport(transport),
      prefix: settings.prefix,
      tools: settings.tools,
      timeouts: settings.timeouts,
    })),
  };
}

function describeTransport(transport: McpTransport) {
  if (transport.kind === "stdio") {
    const { command, secrets: _, args, env, ...limits } = transport.command;
    return {
      target: command,
      // Both may come from the environment of the gateway.
      args: args.length,
      env: Object.keys(env),
      ...limits,
    };
  }
  const { key: backend } = transport.backend;
  if (transport.kind !== "openapi") {
    return { backend, target: shownUrl(transport.address) };
  }
  const { api: { authority, basePath }, document, operations } = transport;
  return {
    backend,
    target: `${authority}${basePath}`,
    openapi: {
      ...operations,
      document: "text" in document ? "File" : shownUrl(document),
    },
  };
}

/** Returns a URL without its query, which may have a secret. */
function shownUrl(
  { authority, path }: { readonly authority: string; readonly path: string },
): string {
  return `${authority}${path.split("?", 1)[0]}`;
}

/** Describes credentials without secrets, and without parameters, which may be some. */
function describeCredentials(credentials: Backend["credentials"]) {
  if (credentials === undefined || credentials.kind === "key") {
    return credentials && { kind: credentials.kind };
  }
  if (credentials.kind === "oauth") {
    const { kind, resource, issuer, client, scopes } = credentials;
    return {
      kind,
      resource: redactUrl(resource),
      issuer: issuer && redactUrl(issuer),
      clientId: client?.clientId,
      authentication: client?.authentication.method,
      scopes,
    };
  }
  if (isCloudIdentity(credentials)) {
    const { fingerprint: _, backend: __, ...identity } = credentials;
    return { ...identity, clientSecret: undefined };
  }
  const { kind, server, clientId, authentication } = credentials;
  const { scope, resource, audience } = credentials.parameters;
  return {
    kind,
    [server.kind]: redactUrl(server.url),
    clientId,
    authentication: authentication.method,
    scope,
    resource,
    audience,
  };
}

/** Describes all but the expression, which may contain secrets. */
function describeBalancing(balancing: Backend["balancing"]) {
  if (balancing === undefined) return undefined;
  const { hashKey: _hashKey, ...shown } = balancing;
  return shown;
}

function describeBackend(backend: Backend) {
  const { key, name, host, port, protocol, tls } = backend;
  if (backend.webUi !== undefined) return { key, name, webUi: backend.webUi };
  // Its servers have addresses, and backends of their own.
  if (backend.mcp !== undefined) {
    return { key, name, mcp: describeMcp(backend.mcp) };
  }
  return {
    key,
    name,
    target: formatHostPort(host, port),
    protocol,
    endpoints: backend.hosts?.map(({ host, port }) =>
      formatHostPort(host, port)
    ),
    loadBalancing: describeBalancing(backend.balancing),
    healthCheck: backend.healthCheck,
    dns: backend.lookups,
    credentials: describeCredentials(backend.credentials),
    llm: backend.llm && describeLlm(backend.llm),
    maxConnections: backend.maxConnections,
    maxPendingRequests: backend.maxPendingRequests,
    connectTimeoutMs: backend.connectTimeoutMs,
    firstByteTimeoutMs: backend.firstByteTimeoutMs,
    idleTimeoutMs: backend.idleTimeoutMs,
    tls: typeof tls === "object"
      ? { ...tls, caCertificates: tls.caCertificates?.length ?? "System" }
      : tls,
  };
}
