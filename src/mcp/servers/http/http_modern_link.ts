import type { Cancellation } from "../../../base/cancellation.ts";
import {
  encodeHeaderValue,
  namedTarget,
  type ParameterHeader,
  parameterValue,
} from "../../protocol/header_values.ts";
import {
  RPC,
  RpcFailure,
  type RpcMessage,
  writeRequest,
} from "../../protocol/rpc_messages.ts";
import { MODERN_REVISION } from "../../protocol/revisions.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import type {
  ModernLink,
  ModernRequest,
  RequestSender,
  SendCall,
} from "../server_links.ts";
import { CHANGED_VERSION, ServerFailure } from "../failures/server_failure.ts";
import type { HttpTransport } from "./http_transport.ts";

/** Errors with which servers of this era reject a request by a status. */
const ownErrors: ReadonlySet<number> = new Set([
  RPC.METHOD_NOT_FOUND,
  RPC.INVALID_PARAMS,
  RPC.HEADER_MISMATCH,
  RPC.MISSING_CAPABILITY,
]);

/** Dependencies of the requests to a server. */
interface HttpModernOptions {
  readonly server: string;
  readonly http: HttpTransport;
  /** Returns the arguments of a tool that the server wants in headers. */
  parameterHeaders(tool: string): Promise<readonly ParameterHeader[]>;
  /** Called when the server may not know this revision any more. */
  onWrongEra(): void;
}

/** Requests over Streamable HTTP (MCP 2026-07-28, "Transports"). */
export class HttpModernLink implements ModernLink {
  readonly #options: HttpModernOptions;

  constructor(options: HttpModernOptions) {
    this.#options = options;
  }

  async *exchange(
    request: ModernRequest,
    cancellation: Cancellation,
    sender?: RequestSender,
    begun?: Promise<ResponseMessage>,
  ): AsyncGenerator<RpcMessage, void> {
    const headers = begun === undefined
      ? await this.#parameterHeaders(request)
      : [];
    const call = modernCall(request, cancellation, headers);
    const { http, server, onWrongEra } = this.#options;
    const owners = sender?.owners ?? [];
    const { status, error, messages } = await http.call({
      ...call,
      owners,
      begun,
    });
    if (status < 300) return yield* messages();
    const fail = (kind: ServerFailure["kind"], problem: string) =>
      new ServerFailure(server, kind, problem);
    if (status === 401 || status === 403) {
      throw fail("rejected", `rejects the gateway with ${status}`);
    }
    if (status >= 500 || status === 429) {
      throw fail("failed", `responds with status ${status}`);
    }
    if (error === undefined || !ownErrors.has(error.code)) onWrongEra();
    if (error?.code === RPC.UNSUPPORTED_VERSION) {
      throw fail("failed", CHANGED_VERSION);
    }
    throw error === undefined
      ? fail("invalid", `responds with status ${status}`)
      : RpcFailure.of(error);
  }

  callOf(tool: string): SendCall {
    return this.#options.http.prepare([...callHeaders, ["mcp-name", tool]]);
  }

  async #parameterHeaders(
    { method, params }: ModernRequest,
  ): Promise<readonly (readonly [string, string])[]> {
    const { name, arguments: args } = params;
    if (method !== "tools/call" || typeof name !== "string") return [];
    const declared = await this.#options.parameterHeaders(name);
    return declared.flatMap(({ header, path }) => {
      const value = parameterValue(args, path);
      return value === undefined
        ? []
        : [[header, encodeHeaderValue(value)] as const];
    });
  }
}

const callHeaders: readonly (readonly [string, string])[] = [
  ["mcp-protocol-version", MODERN_REVISION],
  ["mcp-method", "tools/call"],
];

/** Creates the HTTP request of a message of this revision. */
export function modernCall(
  { id, method, params }: ModernRequest,
  cancellation: Cancellation,
  headers: readonly (readonly [string, string])[] = [],
) {
  const target = namedTarget(method, params);
  const name = target === undefined
    ? []
    : [["mcp-name", encodeHeaderValue(target)] as const];
  return {
    method: "POST" as const,
    content: writeRequest(id, method, params),
    cancellation,
    headers: [
      ["mcp-protocol-version", MODERN_REVISION] as const,
      ["mcp-method", method] as const,
      ...name,
      ...headers,
    ],
  };
}
