import { type JsonValue, toJson } from "../../base/json.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import {
  describeArrival,
  type RequestState,
} from "../../telemetry/trace/trace_state.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { TokenMeter } from "../body/token_meter.ts";
import {
  type Claims,
  identities,
} from "../../policy/authentication/request_identity.ts";
import {
  llmRequest,
  mcpMessage,
} from "../../policy/expressions/expression_slots.ts";
import type { McpMessage } from "../../policy/expressions/mcp_variable.ts";
import { pathOf } from "../../route/normalize_target.ts";
import type { Backend, Mirror } from "../../snapshot/snapshot.ts";
import type { PolicyContext } from "../../policy/policy.ts";

/** The parts of a request's life that a trace shows. */
export interface TracedRequest
  extends Pick<PolicyContext, "request" | "acceptedAt" | "gateway" | "slots"> {
  /** Monotonic time of acceptance, in milliseconds. */
  readonly startedAt: number;
  /** The request as the client sent it. */
  readonly asked: Readonly<Pick<RequestMessage, "target">>;
  readonly hostname: string;
  readonly backend: Backend | undefined;
  /** Time until the upstream's response head, in milliseconds. */
  readonly upstreamMs: number | undefined;
  readonly meter: TokenMeter | undefined;
}

/** What a snapshot says of time, in milliseconds since the request was accepted. */
export interface TraceTiming {
  /** When the upstream was first called. */
  readonly calledAt: number | undefined;
}

/** The request as it is now, and the response to it as far as there is one; secrets redacted. */
export function readState(
  exchange: TracedRequest,
  redactor: TraceRedactor,
  timing: TraceTiming,
  response?: ResponseMessage,
): RequestState {
  const { backend } = exchange;
  return {
    ...readArrival(exchange, redactor),
    env: readEnvironment(exchange),
    ...readIdentities(exchange, redactor),
    ...readBodyVariables(exchange, redactor),
    ...(backend && { backend: readBackend(backend) }),
    ...(response && {
      response: {
        code: response.status,
        headers: redactor.headers(response.headers),
      },
    }),
    ...readTiming(exchange, timing),
  };
}

/** A backend as traces show it. */
export function readBackend(
  { key, tls }: Backend,
): NonNullable<RequestState["backend"]> {
  const protocol = tls === undefined ? "http" : "https";
  return { name: key, type: "static", protocol };
}

/** The mirrors of a route as traces show them: one, a list, or `null`. */
export function describeMirrors(mirrors: readonly Mirror[]): JsonValue {
  const [only = null, ...others] = mirrors.map(({ backend, fraction }) => ({
    backend: backend.key,
    fraction,
  }));
  return others.length === 0 ? only : [only, ...others];
}

function readArrival(
  { request, acceptedAt }: TracedRequest,
  redactor: TraceRedactor,
): Pick<RequestState, "request" | "source"> {
  const { method, scheme, version, source } = request;
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
    source,
  });
}

function readEnvironment({ gateway }: TracedRequest): RequestState["env"] {
  const podName = Deno.env.get("POD_NAME");
  const namespace = Deno.env.get("POD_NAMESPACE");
  return {
    ...(podName !== undefined && { podName }),
    ...(namespace !== undefined && { namespace }),
    ...(gateway !== undefined && { gateway }),
  };
}

function readIdentities(
  { slots }: TracedRequest,
  redactor: TraceRedactor,
): Pick<RequestState, "jwt" | "apiKey" | "basicAuth"> {
  const known = identities.flatMap((slot) => {
    const claims = slots.get(slot);
    return claims === undefined
      ? []
      : [[slot.name, readClaims(claims, redactor)] as const];
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
  { slots }: TracedRequest,
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
  { upstreamMs }: TracedRequest,
  { calledAt }: TraceTiming,
): Pick<RequestState, "proxy"> {
  if (calledAt === undefined) return {};
  return {
    proxy: {
      requestProcessingDuration: inSeconds(calledAt),
      ...(upstreamMs !== undefined &&
        { upstreamDuration: inSeconds(upstreamMs) }),
    },
  };
}

/** Such as `0.0034s`. */
function inSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(4)}s`;
}
