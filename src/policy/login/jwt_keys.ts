import { servicesIn } from "../contract/policy_services.ts";
import { loginServices } from "./login_services.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import {
  addressOfUrl,
  type DocumentServer,
} from "../../identity/documents/document_client.ts";
import type { KeySource } from "../../identity/keys/key_set.ts";
import { DocumentUnavailableError } from "../../identity/documents/remote_document.ts";
import type {
  PolicyOptions,
  PolicyProblem,
  References,
} from "../contract/policy_kind.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { redactUrl } from "../../base/redaction.ts";
import { loginProviderIndex } from "./login_provider.ts";
import type { PolicyBackendRef } from "../../api/resources/policy_references.ts";

type Jwks = NonNullable<JwtAuthentication["providers"][number]["jwks"]>;

/** Returns the key sets of a configuration, each with its place. */
export function keySetsOf(
  { providers, mcp }: JwtAuthentication,
): readonly (readonly [DiagnosticPath, Jwks | undefined])[] {
  const { tokenClients = [], assertionIssuers = [] } = mcp ?? {};
  const lists = [
    { path: ["providers"], all: providers },
    { path: ["mcp", "tokenClients"], all: tokenClients },
    { path: ["mcp", "assertionIssuers"], all: assertionIssuers },
  ];
  return lists.flatMap(({ path, all }) =>
    all.map(({ jwks }, index) => [[...path, index], jwks] as const)
  );
}

/** Returns the source of the keys of a provider. */
export function keySource(jwks: Jwks, options: PolicyOptions): KeySource {
  const { keys } = servicesIn(options.services, loginServices).identity;
  const { remote, url, inline, file } = jwks;
  if (inline !== undefined) return keys({ kind: "inline", text: inline });
  if (file !== undefined) return keys({ kind: "file", path: file });
  if (url !== undefined) {
    return keys({ kind: "remote", address: addressOfUrl(url) });
  }
  const server = jwksServer(jwks, options);
  if (remote === undefined || server === undefined) return noKeys;
  const address = { ...server, target: remote.jwksPath };
  return keys({ kind: "remote", address });
}

/** Returns the backend with the keys of a provider; `undefined` when they are elsewhere or it cannot be called. */
export function jwksServer(
  { remote }: Jwks,
  { connectionOf }: PolicyOptions,
): DocumentServer | undefined {
  if (remote === undefined) return undefined;
  const connection = connectionOf(remote.backendRef);
  if (connection === undefined) return undefined;
  const { host, port, tls } = connection;
  const name = tls?.hostname ?? host;
  const isExpected = port === (tls === undefined ? 80 : 443);
  const spelled = name.includes(":") ? `[${name}]` : name;
  return { connection, authority: isExpected ? spelled : `${spelled}:${port}` };
}

const RETRY_AFTER_SECONDS = 60;

/** Key source for a backend that cannot be called, so that requests are rejected. */
const noKeys: KeySource = {
  get: () =>
    Promise.reject(
      new DocumentUnavailableError(
        "Cannot call key backend",
        RETRY_AFTER_SECONDS,
      ),
    ),
  newer: (than) => Promise.resolve(than),
};

/**
 * Finds key backends that do not exist, whose policies would reject every request, that have no TLS, or do not have the port of the
 * reference.
 */
export function checkKeyBackends(
  config: JwtAuthentication,
  references: References,
): readonly PolicyProblem[] {
  const { providers, mcp } = config;
  const loginIndex = loginProviderIndex(config);
  const ofClients = keySetsOf(config).flatMap(([at, jwks]) => {
    if (jwks === undefined || at[0] === "providers") return [];
    const { remote, url } = jwks;
    const path = [...at, "jwks", "remote", "backendRef"];
    return remote === undefined
      ? denialsOf(url, [...at, "jwks", "url"], references)
      : problemsOf(remote.backendRef, path, references);
  });
  return [
    ...ofClients,
    ...providers.flatMap(({ issuer, jwks, introspection }, index) => {
      const { remote, url } = jwks ?? {};
      const at = ["providers", index];
      const denied = [
        ...denialsOf(url, [...at, "jwks", "url"], references),
        ...denialsOf(
          introspection && (introspection.endpoint ?? issuer),
          introspection?.endpoint === undefined
            ? [...at, "issuer"]
            : [...at, "introspection", "endpoint"],
          references,
        ),
        // Metadata is that of the login provider, and may come from the backend with its keys.
        ...(mcp !== undefined && index === loginIndex && remote === undefined
          ? denialsOf(issuer, [...at, "issuer"], references)
          : []),
      ];
      if (remote === undefined) return denied;
      const path = ["providers", index, "jwks", "remote", "backendRef"];
      return problemsOf(remote.backendRef, path, references);
    }),
  ];
}

function denialsOf(
  url: string | undefined,
  path: PolicyProblem["path"],
  references: References,
): readonly PolicyProblem[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const denial = references.denialOf(addressOfUrl(url).connection);
  const message = `Cannot connect to "${redactUrl(url)}": ${denial}`;
  return denial === undefined ? [] : [{ path, message }];
}

function problemsOf(
  ref: PolicyBackendRef,
  path: PolicyProblem["path"],
  references: References,
): readonly PolicyProblem[] {
  const backend = references.backend(ref);
  if (backend === undefined) return [references.missing(ref, path)];
  const { key, port, hasTls } = backend;
  const problems: PolicyProblem[] = [];
  if (port === 443 && !hasTls) {
    problems.push({
      path: [...path, "name"],
      message:
        `Cannot trust keys in plain text: port 443 of backend "${key}" has no TLS policy`,
      isWarning: true,
    });
  }
  if (ref.port !== undefined && ref.port !== port) {
    problems.push({
      path: [...path, "port"],
      message:
        `Backend "${key}" has no port ${ref.port}; the backend's own port is used`,
      suggestion: String(port),
      isWarning: true,
    });
  }
  return problems;
}
