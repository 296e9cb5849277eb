import type { PolicyProblem, References } from "../policy_kind.ts";
import type { RateLimit } from "./rate_limit_schema.ts";

/** Finds global limits that nobody keeps: their policies would reject every request. */
export function checkGlobalStore(
  { global }: RateLimit,
  references: References,
): readonly PolicyProblem[] {
  const path = ["global", "store"];
  const store = global?.store;
  if (store === undefined) return [];
  if (store === "KV") {
    const message =
      'Cannot share limits: expected a store in "config.kv", such as {path: limits.db}, there at the start of the process';
    return references.hasStore ? [] : [{ path, message }];
  }
  const ref = store.service.backendRef;
  if (ref === undefined) return [];
  const at = [...path, "service", "backendRef"];
  const backend = references.backend(ref);
  if (backend === undefined) return [references.missing(ref, at)];
  const message =
    `Cannot ask backend "${backend.key}" for limits: a rate limit service speaks HTTP/2`;
  return backend.protocol === "http1"
    ? [{ path: [...at, "name"], message }]
    : [];
}
