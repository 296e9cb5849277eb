import type { PathModifier } from "../../api/rules/http_filter.ts";
import { GatewayError } from "../../base/errors.ts";
import { pathEnd } from "../../route/normalize_target.ts";

/**
 * Returns the target with its path replaced and its query unchanged (Gateway API, `HTTPPathModifier`).
 *
 * @param matchedPrefix As in `PolicyContext`.
 * @throws {GatewayError} `invalid_policy` for a prefix to replace when none was matched, `transformation_failed` when a policy has
 *   changed the path since.
 */
export function modifyPath(
  modifier: PathModifier,
  target: string,
  matchedPrefix: string | undefined,
): string {
  const end = pathEnd(target);
  const query = target.slice(end);
  if (modifier.type === "ReplaceFullPath") {
    return (modifier.replaceFullPath || "/") + query;
  }
  if (matchedPrefix === undefined) {
    throw new GatewayError(
      "invalid_policy",
      "gateway",
      "Cannot replace a path prefix: the route did not match by prefix",
    );
  }
  const rest = target.slice(matchedPrefix.length, end);
  const isPrefix = target.startsWith(matchedPrefix) &&
    (rest === "" || rest.startsWith("/"));
  if (!isPrefix) {
    // Without this check, the rest of an unrelated path would be forwarded.
    throw new GatewayError(
      "transformation_failed",
      "gateway",
      `Cannot replace the path prefix "${matchedPrefix}": the path no longer begins with it`,
    );
  }
  return joinPaths(modifier.replacePrefixMatch, rest) + query;
}

/** Joins the paths with exactly one slash; `rest` is empty or starts with a slash. */
function joinPaths(prefix: string, rest: string): string {
  const start = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  return start + rest || "/";
}
