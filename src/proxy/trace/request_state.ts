import { redactValues } from "../../base/redaction.ts";
import { type JsonValue, toJson } from "../../base/json.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import {
  describeArrival,
  type RequestState,
} from "../../telemetry/trace/trace_state.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { Attempts } from "../request/attempts.ts";
import type { UsageMeter } from "../metering/meter/usage_meter.ts";
import type { RequestContext } from "../request/request_context.ts";
import type { RoutedRequest } from "../request/routed_request.ts";
import type { Claims } from "../../policy/contract/identity.ts";
import {
  llmRequest,
  mcpMessage,
} from "../../policy/expressions/expression_slots.ts";
import type { McpMessage } from "../../policy/expressions/mcp_message.ts";
import { pathOf } from "../../route/normalize_target.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Mirror, Snapshot } from "../../snapshot/snapshot.ts";

/** The parts of an exchange that a trace shows. */
export interface TracedRequest {
  readonly request: RequestMessage;
  /** The request as the client sent it. */
  readonly originalRequest: Pick<RequestMessage, "target">;
  /** Monotonic time of acceptance, in milliseconds. */
  readonly startedAt: number;
  readonly routed: RoutedRequest;
  readonly snapshot: Pick<Snapshot, "identities">;
  readonly context: RequestContext;
  readonly attempts: Attempts | undefined;
  readonly meter: UsageMeter | undefined;
}

/**
 * Describes a request as it is now, and the response if there is one; secrets are redacted.
 * @param calledAt When the upstream was first called, in milliseconds since the request was accepted.
 */
export function readState(
  exchange: TracedRequest,
  redactor: TraceRedactor,
  calledAt: number | undefined,
  response?: ResponseMessage,
): RequestState {
  const { backend } = exchange.routed;
  return {
    ...readArrival(exchange, redactor),
    env: readEnvironment(exchange.context),
    ...readIdentities(exchange, redactor),
    ...readBodyVariables(exchange.context, redactor),
    ...(backend && { backend: readBackend(backend) }),
    ...(response && {
      response: {
        code: response.status,
        headers: redactor.headers(response.headers),
      },
    }),
    ...readTiming(exchange, calledAt),
  };
}

/** Describes a backend. */
export function readBackend(
  { key, tls }: Backend,
): NonNullable<RequestState["backend"]> {
  const protocol = tls === undefined ? "http" : "https";
  return { name: key, type: "static", protocol };
}

/** Describes the mirrors of a route: one, a list, or `null`. */
export function describeMirrors(mirrors: readonly Mirror[]): JsonValue {
  const [only = null, ...others] = mirrors.map(({ backend, fraction }) => ({
    backend: backend.key,
    fraction,
  }));
  return others.length === 0 ? only : [only, ...others];
}

function readArrival(
  { request, context: { acceptedAt, client } }: TracedRequest,
  redactor: TraceRedactor,
): Pick<RequestState, "request" | "source"> {
  const { method, scheme, version } = request;
  const target = redactor.target(request.target);
  const path = pathOf(target);
  return describeArrival({
    method,
    scheme,
    authority: redactor.text(request.authority),
    path,
    query: target.slice(path.length),
    version,
    headers: redactor.headers(request.headers),
    acceptedAt,
    source: client,
  });
}

function readEnvironment({ gateway }: RequestContext): RequestState["env"] {
  const podName = Deno.env.get("POD_NAME");
  const namespace = Deno.env.get("POD_NAMESPACE");
  return {
    ...(podName !== undefined && { podName }),
    ...(namespace !== undefined && { namespace }),
    ...(gateway !== undefined && { gateway }),
  };
}

/** Returns claims whose values traces do not show. */
export function privateClaims(
  { context: { slots }, snapshot: { identities } }: TracedRequest,
): readonly Claims[] {
  return identities.filter(({ isPrivate }) => isPrivate)
    .map((slot) => slots.get(slot)).filter((claims) => claims !== undefined);
}

/** Describes the verified callers by their claims; secrets are redacted. */
export function readIdentities(
  { context: { slots }, snapshot: { identities } }: TracedRequest,
  redactor: TraceRedactor,
): Pick<RequestState, "jwt" | "apiKey" | "basicAuth" | "extAuthz"> {
  const known = identities.flatMap((slot) => {
    const claims = slots.get(slot);
    return claims === undefined ? [] : [
      [
        slot.name,
        slot.isPrivate ? redactValues(claims) : readClaims(claims, redactor),
      ] as const,
    ];
  });
  return Object.fromEntries(known);
}

function readClaims(
  claims: Claims,
  redactor: TraceRedactor,
): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    Object.entries(claims).map(([claim, value]) =>
      [claim, redactor.json(toJson(value))] as const
    ),
  );
}

/** Reads the variables that expressions needed of the body, without the arguments of tools: they are long, and the trace has the body. */
function readBodyVariables(
  { slots }: RequestContext,
  redactor: TraceRedactor,
): Pick<RequestState, "llm" | "mcp"> {
  const llm = slots.get(llmRequest);
  const mcp = slots.get(mcpMessage);
  return {
    ...(llm && { llm: redactor.json(llm) }),
    ...(mcp && { mcp: redactor.json(withoutArguments(mcp)) }),
  };
}

function withoutArguments({ tool, ...message }: McpMessage) {
  return tool === undefined
    ? message
    : { ...message, tool: { name: tool.name } };
}

function readTiming(
  { attempts }: TracedRequest,
  calledAt: number | undefined,
): Pick<RequestState, "proxy"> {
  if (calledAt === undefined) return {};
  const upstreamMs = attempts?.durationMs;
  return {
    proxy: {
      requestProcessingDuration: inSeconds(calledAt),
      ...(upstreamMs !== undefined &&
        { upstreamDuration: inSeconds(upstreamMs) }),
    },
  };
}

/** Formats a time, such as `0.0034s`. */
function inSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(4)}s`;
}
