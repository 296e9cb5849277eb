import { redactUrl } from "../../base/redaction.ts";
import { addressOfUrl } from "../../identity/documents/document_client.ts";
import type { PolicyBackendRef } from "../../api/resources/policy_backend_ref.ts";
import type { PolicyProblem, References } from "../policy_kind.ts";
import type { JwtAuthentication } from "./jwt_schema.ts";

/**
 * Finds key backends that do not exist, whose policies would reject every request, that have no TLS, or do not have the port of the
 * reference.
 */
export function checkKeyBackends(
  { providers, mcp }: JwtAuthentication,
  references: References,
): readonly PolicyProblem[] {
  return providers.flatMap(({ issuer, jwks: { remote, url } }, index) => {
    const at = ["providers", index];
    const denied = [
      ...denialsOf(url, [...at, "jwks", "url"], references),
      // Metadata is that of the first provider, and may come from the backend with its keys.
      ...(mcp !== undefined && index === 0 && remote === undefined
        ? denialsOf(issuer, [...at, "issuer"], references)
        : []),
    ];
    if (remote === undefined) return denied;
    const path = ["providers", index, "jwks", "remote", "backendRef"];
    return problemsOf(remote.backendRef, path, references);
  });
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
