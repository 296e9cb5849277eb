import { isCloudIdentity } from "../../identity/backend_tokens/backend_credentials.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import { REDACTION_MARKER, redactUrl } from "../../base/redaction.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type {
  Backend,
  McpTarget,
  McpTransport,
} from "../../snapshot/backend.ts";

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

/** Describes a backend without its secrets. */
export function describeBackend(backend: Backend) {
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
