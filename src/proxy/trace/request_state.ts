import { toJson } from "../../telemetry/trace/plain_json.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import type {
  JsonObject,
  JsonValue,
  RequestState,
} from "../../telemetry/trace/trace_state.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { McpMessage } from "../../policy/expressions/mcp_variable.ts";
import { pathOf } from "../../route/normalize_target.ts";
import type { Backend, Mirror } from "../../snapshot/snapshot.ts";
import type { Exchange } from "../exchange.ts";

/** What a snapshot says of time, in milliseconds since the request was accepted. */
export interface TraceTiming {
  /** When the upstream was first called. */
  readonly calledAt: number | undefined;
}

/** The request as it is now, and the response to it as far as there is one; secrets redacted. */
export function readState(
  exchange: Exchange,
  redactor: TraceRedactor,
  timing: TraceTiming,
  response?: ResponseMessage,
): RequestState {
  const { identity, backend, request: { source } } = exchange;
  return {
    request: readRequest(exchange, redactor),
    source: {
      address: source.address,
      port: source.port,
      rawAddress: source.address,
      rawPort: source.port,
    },
    env: readEnvironment(exchange),
    ...claims("jwt", identity.jwt, redactor),
    ...claims("apiKey", identity.apiKey, redactor),
    ...readUser(identity.basicAuth, redactor),
    ...readAsked(exchange, redactor),
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

function readRequest(
  { request, acceptedAt }: Exchange,
  redactor: TraceRedactor,
): RequestState["request"] {
  const { method, scheme, version } = request;
  const authority = redactor.text(request.authority);
  const target = redactor.target(request.target);
  return {
    method,
    uri: `${scheme}://${authority}${target}`,
    path: pathOf(target),
    pathAndQuery: target,
    host: authority.replace(/:\d*$/, "").toLowerCase(),
    scheme,
    version: `HTTP/${version}`,
    headers: redactor.headers(request.headers),
    startTime: new Date(acceptedAt).toISOString(),
  };
}

function readEnvironment({ gateway }: Exchange): RequestState["env"] {
  const podName = Deno.env.get("POD_NAME");
  const namespace = Deno.env.get("POD_NAMESPACE");
  return {
    ...(podName !== undefined && { podName }),
    ...(namespace !== undefined && { namespace }),
    ...(gateway !== undefined && { gateway }),
  };
}

function claims(
  name: "jwt" | "apiKey",
  known: Readonly<Record<string, unknown>> | undefined,
  redactor: TraceRedactor,
): { readonly [name in "jwt" | "apiKey"]?: JsonObject } {
  if (known === undefined) return {};
  const entries = Object.entries(known).map(([claim, value]) =>
    [claim, redactor.json(toJson(value))] as const
  );
  return { [name]: Object.fromEntries(entries) };
}

function readUser(
  known: Readonly<Record<string, unknown>> | undefined,
  redactor: TraceRedactor,
): Pick<RequestState, "basicAuth"> {
  const username = known?.["username"];
  if (typeof username !== "string") return {};
  return { basicAuth: { username: redactor.text(username) } };
}

/** What expressions have read of the body, without the arguments of tools: they are long, and the body is shown anyway. */
function readAsked(
  { llmRequest, mcpMessage }: Exchange,
  redactor: TraceRedactor,
): Pick<RequestState, "llm" | "mcp"> {
  return {
    ...(llmRequest && { llm: redactor.json(llmRequest) }),
    ...(mcpMessage && { mcp: redactor.json(withoutArguments(mcpMessage)) }),
  };
}

function withoutArguments({ tool, ...message }: McpMessage) {
  return tool === undefined
    ? message
    : { ...message, tool: { name: tool.name } };
}

function readTiming(
  { upstreamMs }: Exchange,
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
