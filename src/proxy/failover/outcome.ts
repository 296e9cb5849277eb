import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Route } from "../../snapshot/snapshot.ts";
import type { Exchange } from "../exchange/exchange.ts";
import {
  isRepeatable,
  isUnanswered,
  isUnavailable,
  isUnsent,
  isWorthRetrying,
} from "./retry.ts";

/** A response, and whether the backend sent it: otherwise a policy did, for whom all backends are the same. */
export interface BackendResponse {
  readonly response: ResponseMessage;
  readonly isUpstream: boolean;
}

/** The end of an attempt. */
export type Outcome = BackendResponse | GatewayError;

/** Errors that another backend may not have. */
const backendErrors: ReadonlySet<GatewayErrorCode> = new Set([
  "credentials_rejected",
  "credentials_unavailable",
  "egress_denied",
  "invalid_backend",
  "llm_key_rejected",
  "llm_response_invalid",
  "no_endpoints",
  "upstream_closed",
  "upstream_connect_failed",
  "upstream_overloaded",
  "upstream_protocol_error",
  "upstream_timeout",
  "upstream_tls_failed",
]);

/** Returns why a backend has failed; `undefined` when the outcome is not its fault. */
export function failureOf(
  outcome: Outcome,
  { replaysFailures = false }: Route,
): string | undefined {
  if (outcome instanceof GatewayError) {
    const { code } = outcome;
    // The share of a reference that does not resolve gets 500, unless priorities say who replaces it.
    const isFailure = code === "invalid_backend"
      ? replaysFailures
      : backendErrors.has(code);
    return isFailure ? code : undefined;
  }
  const { isUpstream, response: { status } } = outcome;
  const hasFailed = replaysFailures
    ? status === 429 || status >= 500
    : isUnavailable(status, undefined);
  return isUpstream && hasFailed ? String(status) : undefined;
}

/**
 * Returns why another backend may get the request: a status, the code of an error, `context_too_long` or `content_filter`;
 * `undefined` when none may.
 */
export function reasonToMove(
  outcome: Outcome,
  failure: string | undefined,
  { request, attempts }: Pick<Exchange, "request" | "attempts">,
  route: Route,
): string | undefined {
  const { replaysFailures = false } = route;
  if (failure !== undefined && mayReplace(outcome, request, route)) {
    return failure;
  }
  // A model with a larger context may take it.
  if (replaysFailures && attempts?.isTooLong === true) {
    return "context_too_long";
  }
  // Another deployment may have the model.
  if (replaysFailures && attempts?.lacksModel === true) return "404";
  if (route.choice?.leavesFilters === true && attempts?.isFiltered === true) {
    return "content_filter";
  }
  if (!mayRetry(outcome, request, attempts?.retries ?? 0, route)) {
    return undefined;
  }
  if (failure !== undefined) return failure;
  return outcome instanceof GatewayError
    ? outcome.code
    : String(outcome.response.status);
}

function mayReplace(
  outcome: Outcome,
  request: Exchange["request"],
  { replaysFailures = false }: Route,
): boolean {
  if (replaysFailures) return true;
  if (!(outcome instanceof GatewayError)) return isRepeatable(request);
  return isUnsent(outcome) || outcome.code === "no_endpoints" ||
    isRepeatable(request) && isUnanswered(outcome);
}

function mayRetry(
  outcome: Outcome,
  request: Exchange["request"],
  retries: number,
  { retry }: Route,
): boolean {
  if (retry === undefined || retries >= retry.attempts) return false;
  if (outcome instanceof GatewayError) {
    return isWorthRetrying(outcome, retry, request);
  }
  const { isUpstream, response: { status } } = outcome;
  return isUpstream && isWorthRetrying(status, retry, request);
}

/** Returns the response of an outcome that has one. */
export function responseOf(outcome: Outcome): ResponseMessage | undefined {
  return outcome instanceof GatewayError ? undefined : outcome.response;
}

/** Returns the response, or throws the error. */
export function resultOf(outcome: Outcome): BackendResponse {
  if (outcome instanceof GatewayError) throw outcome;
  return outcome;
}
