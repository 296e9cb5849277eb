import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { Claims } from "../../policy/contract/identity.ts";
import {
  llmRequest,
  mcpMessage,
} from "../../policy/expressions/expression_slots.ts";
import type { McpMessage } from "../../policy/expressions/mcp_message.ts";
import { normalizeTarget, pathOf } from "../../route/normalize_target.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import type { Exchange } from "./exchange.ts";

/**
 * A request that has ended, as far as routes, rules and limits read it, to try others on it: plain data, so that threads can send
 * it. It has no credentials, and of the body only the model, or the method and the target of a message.
 */
export interface ReplayableRequest {
  /** In milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly durationMs: number;
  readonly port: number;
  readonly method: string;
  readonly scheme: string;
  readonly authority: string;
  /** Path without the query. */
  readonly target: string;
  readonly hasQuery: boolean;
  readonly version: "1.0" | "1.1" | "2";
  readonly headers: readonly (readonly [string, string])[];
  readonly source: { readonly address: string; readonly port: number };
  /** A body that names what the real one named; `undefined` if it is not known. */
  readonly body?: string;
  /** Verified claims by the name of their identity, such as `jwt`. */
  readonly identities: Readonly<Record<string, Claims>>;
  /** Identity of the client, as in the access log. */
  readonly client: string;
  readonly model?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  /** As in the access log. */
  readonly reason: string;
}

/** Reasons of rejections that a replay decides anew; a request with another one never got as far as rules. */
const replayedRejections: ReadonlySet<string> = new Set([
  "authorization",
  "rate_limit",
]);

const MAX_HEADERS = 48;
const MAX_HEADER_CHARS = 2048;
const MAX_TARGET = 1024;

/** Returns what a replay needs; `undefined` for a request that was rejected for its credentials, or is too long. */
export function replayableRequest(
  exchange: Exchange,
  finished: FinishedRequest,
  redactor: TraceRedactor,
): ReplayableRequest | undefined {
  const { policyRun, originalRequest: { target }, client, request } = exchange;
  const reason = policyRun?.rejection?.reason;
  if (reason !== undefined && !replayedRejections.has(reason)) return undefined;
  if (target.length > MAX_TARGET) return undefined;
  const body = bodyOf(exchange, finished);
  const path = pathOf(normalizeTarget(target));
  return {
    acceptedAt: finished.time,
    durationMs: finished.durationMs ?? 0,
    port: finished.port,
    method: finished.method,
    scheme: request.scheme,
    authority: finished.host,
    target: path,
    hasQuery: target.includes("?"),
    version: request.version,
    headers: headersOf(exchange, redactor),
    source: { address: client.address, port: client.port },
    ...(body !== undefined && { body }),
    identities: identitiesOf(exchange),
    client: finished.client,
    model: modelOf(exchange, finished),
    usage: finished.usage,
    reason: finished.reason,
  };
}

/** Leaves out what may be a secret, what the gateway knows to be one, and what a replay sets anew. */
function headersOf(
  { request: { headers } }: Exchange,
  redactor: TraceRedactor,
): ReplayableRequest["headers"] {
  const kept: (readonly [string, string])[] = [];
  let left = MAX_HEADER_CHARS;
  headers.forEach((spelled, value) => {
    const name = spelled.toLowerCase();
    left -= name.length + value.length;
    if (left < 0 || kept.length >= MAX_HEADERS || ofBody.has(name)) return;
    if (redactor.header(name, value) === value) kept.push([name, value]);
  });
  return kept;
}

const ofBody: ReadonlySet<string> = new Set([
  "content-length",
  "content-type",
  "content-encoding",
  "transfer-encoding",
]);

function identitiesOf(
  { slots, snapshot: { identities } }: Exchange,
): ReplayableRequest["identities"] {
  return Object.fromEntries(
    identities.flatMap((identity) => {
      const claims = slots?.get(identity);
      return claims === undefined ? [] : [[identity.name, claims]];
    }),
  );
}

/** Prefers the model that the client named. */
function modelOf(
  { slots, routed }: Exchange,
  { usage, uncounted }: FinishedRequest,
): string | undefined {
  const named = typeof routed.model === "string" ? routed.model : undefined;
  return slots?.get(llmRequest)?.requestModel ?? named ??
    usage?.responseModel ?? uncounted?.model;
}

function bodyOf(
  exchange: Exchange,
  finished: FinishedRequest,
): string | undefined {
  const message = exchange.slots?.get(mcpMessage) ?? exchange.attempts?.mcp;
  if (message?.methodName !== undefined) return messageText(message);
  const model = modelOf(exchange, finished);
  if (model === undefined) return undefined;
  const stream = exchange.slots?.get(llmRequest)?.streaming === true;
  return JSON.stringify({ model, ...(stream && { stream }) });
}

function messageText(
  { methodName, tool, prompt, resource }: McpMessage,
): string {
  const name = tool?.name ?? prompt?.name;
  const params = {
    ...(name !== undefined && { name }),
    ...(resource !== undefined && { uri: resource.name }),
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: methodName, params });
}
