import { splitHostPort } from "../../base/host_port.ts";
import type { PolicyProblem, References } from "../policy_kind.ts";
import type { RateLimit } from "./rate_limit_schema.ts";

/** Finds global limits without a store or service: their policies would reject every request. */
export function checkGlobalStore(
  { global }: RateLimit,
  references: References,
): readonly PolicyProblem[] {
  const path = ["global", "store"];
  const store = global?.store;
  if (store === undefined) return [];
  if (store === "KV") {
    const message =
      'Cannot share limits: "config.kv" is not set; set it, such as {path: limits.db}, and restart the gateway';
    return references.hasStore ? [] : [{ path, message }];
  }
  const { host } = store.service;
  const address = host === undefined ? undefined : splitHostPort(host);
  const denial = address && references.denialOf(address);
  if (denial !== undefined) {
    const message = `Cannot connect to "${host}": ${denial}`;
    return [{ path: [...path, "service", "host"], message }];
  }
  const ref = store.service.backendRef;
  if (ref === undefined) return [];
  const at = [...path, "service", "backendRef"];
  const backend = references.backend(ref);
  if (backend === undefined) return [references.missing(ref, at)];
  const message =
    `Cannot use backend "${backend.key}" as a rate limit service: expected HTTP/2`;
  return backend.protocol === "http1"
    ? [{ path: [...at, "name"], message }]
    : [];
}
