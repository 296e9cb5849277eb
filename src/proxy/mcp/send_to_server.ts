import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../base/clock.ts";
import {
  ConnectionRequiredError,
  GatewayError,
  type GatewayErrorCode,
} from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import {
  type Caller,
  isPerCaller,
} from "../../identity/backend_tokens/backend_credentials.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { RpcText } from "../../mcp/direct/rpc_text.ts";
import type {
  SendHttp,
  SentMessage,
} from "../../mcp/servers/http/http_transport.ts";
import { ServerFailure } from "../../mcp/servers/failures/server_failure.ts";
import { mcpMessageOf } from "../../policy/expressions/mcp_message.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { Backend, McpTargetServer } from "../../snapshot/backend.ts";
import type {
  AttemptTarget,
  Destination,
} from "../balancing/attempt_target.ts";
import {
  CredentialedTarget,
  type SentTokens,
} from "../credentials/credentialed_target.ts";
import type { SessionPlaces } from "./session_places.ts";

/** Dependencies of requests to MCP servers. */
export interface SendToServerOptions {
  /** Returns where requests to a backend go. */
  destinationOf(backend: Backend): Destination;
  /** Gets tokens for servers with credentials. */
  readonly tokens: SentTokens;
  readonly clock: Pick<Clock, "now">;
  /** Limit of bytes of a request. */
  readonly maxBufferBytes: number;
}

/** Trace of the request that is handled; what an endpoint sends for all, or later, belongs to none. */
const traceOfRequest = new AsyncLocalStorage<Pick<PolicyTrace, "report">>();

/** Handles a request, and reports the tokens that it needs in its trace. */
export function withTrace<T>(
  trace: Pick<PolicyTrace, "report">,
  handle: () => T,
): T {
  return traceOfRequest.run(trace, handle);
}

/** Reports whether a server gets tokens of the caller. */
export function seesCaller({ transport }: McpTargetServer): boolean {
  return transport.kind !== "stdio" &&
    isPerCaller(transport.backend.credentials);
}

/**
 * Creates what sends requests to a server, with its credentials.
 * @param caller Returns the user that they are for.
 * @param places The endpoints of sessions.
 */
export function createSend(
  server: string,
  backend: Backend,
  { caller, places }: {
    readonly caller: () => Caller | undefined;
    readonly places: SessionPlaces;
  },
  { destinationOf, tokens, maxBufferBytes, clock }: SendToServerOptions,
): SendHttp {
  const { credentials, tls } = backend;
  const send = (
    destination: Destination,
    ...[request, body, cancellation, message]: Parameters<SendHttp>
  ): Promise<ResponseMessage> => {
    const target = places.choose(destination, request);
    const trace = traceOfRequest.getStore();
    const seen = trace === undefined
      ? target
      : tracedTarget(target, server, toolOf(message), trace);
    if (credentials === undefined) {
      return seen.send(request, body, cancellation);
    }
    const credentialed = new CredentialedTarget(seen, {
      credentials,
      caller: caller(),
      tokens,
      held: undefined,
      maxReplayBytes: maxBufferBytes,
      maxSignedBytes: maxBufferBytes,
      scheme: tls === undefined ? "http" : "https",
      clock,
      trace,
    });
    return credentialed.send(request, body, cancellation)
      .catch((error: unknown) => {
        throw failureOf(server, error);
      });
  };
  return (...call) => {
    try {
      const destination = destinationOf(backend);
      const unprepared = destination.prepare();
      return unprepared === undefined
        ? send(destination, ...call)
        : unprepared.then(() => send(destination, ...call));
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

/** Returns the target; each request to it is an event of the trace, with its outcome. */
function tracedTarget(
  target: AttemptTarget,
  server: string,
  tool: string | undefined,
  trace: Pick<PolicyTrace, "report">,
): Pick<AttemptTarget, "send"> {
  const call = {
    server,
    ...(tool !== undefined && { tool }),
    endpoint: target.label,
  };
  const report = (outcome: { status: number } | { error: string }) =>
    trace.report({
      type: "policyEvent",
      kind: "mcpServer",
      details: { ...call, ...outcome },
    });
  return {
    async send(request, body, cancellation) {
      try {
        const response = await target.send(request, body, cancellation);
        report({ status: response.status });
        return response;
      } catch (error) {
        report({ error: error instanceof Error ? error.message : "failed" });
        throw error;
      }
    },
  };
}

/** Returns the name that a server knows a tool by, if a message calls one. */
function toolOf(message: SentMessage | undefined): string | undefined {
  if (message === undefined) return undefined;
  if (typeof message === "object" && "tool" in message) return message.tool;
  const { value } = new RpcText(message);
  const call = isJsonObject(value) ? mcpMessageOf(value) : undefined;
  return call?.tool?.name;
}

/** Clients get the problem: it does not name the authorization server. */
function failureOf(server: string, error: unknown): unknown {
  if (error instanceof ConnectionRequiredError) {
    const problem = "needs a login of the user";
    return new ServerFailure(server, "rejected", problem, { cause: error });
  }
  const problem = error instanceof GatewayError
    ? tokenProblems.get(error.code)
    : undefined;
  return problem === undefined
    ? error
    : new ServerFailure(server, "rejected", problem, { cause: error });
}

const tokenProblems: ReadonlyMap<GatewayErrorCode, string> = new Map([
  ["caller_rejected", "is not accessible to this user"],
  ["credentials_rejected", "has no token of the gateway"],
  ["credentials_unavailable", "has no token of the gateway at the moment"],
]);
