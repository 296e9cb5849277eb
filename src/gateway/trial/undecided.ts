import {
  headersReadBy,
  isSecretHeader,
  type SensitiveHeaders,
} from "../../base/redaction.ts";
import type { Rejection } from "../../policy/contract/rejection.ts";
import type { ReplayableRequest } from "../../proxy/exchange/replayable_request.ts";

/** Reports whether all rules that denied a request in a replay read something of it that is not recorded. */
export function isUndecided(
  { verdict }: Rejection,
  request: ReplayableRequest,
  sensitiveHeaders: SensitiveHeaders,
): boolean {
  if (verdict?.type !== "authorizationResult") return false;
  const denying = verdict.rules.filter(({ matched, mode, error }) =>
    error !== undefined || matched === (mode === "deny")
  );
  return denying.every(({ name }) =>
    readsUnknown(name, request, sensitiveHeaders)
  );
}

function readsUnknown(
  rule: string,
  { hasQuery, method, body }: ReplayableRequest,
  sensitiveHeaders: SensitiveHeaders,
): boolean {
  if (
    headersReadBy(rule).some((name) => isSecretHeader(name, sensitiveHeaders))
  ) {
    return true;
  }
  if (/\btool\s*\.\s*arguments\b/.test(rule)) return true;
  if (hasQuery && /\brequest\s*\.\s*(?:uri|pathAndQuery)\b/.test(rule)) {
    return true;
  }
  return method === "POST" && body === undefined &&
    /\b(?:llm|mcp)\s*\./.test(rule);
}
