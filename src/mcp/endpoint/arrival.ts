import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { decodeHeaderValue, namedTarget } from "../protocol/header_values.ts";
import { RPC, RpcFailure, type RpcMessage } from "../protocol/rpc_messages.ts";
import {
  META,
  metaOf,
  modernRevisions,
  supportedRevisions,
  withMeta,
} from "../protocol/revisions.ts";

/** A request of a client. */
export type RpcRequest = Extract<RpcMessage, { kind: "request" }>;

/** Reports whether a client accepts event streams; one that does not say accepts everything. */
export function acceptsEvents(headers: HeaderList): boolean {
  const accept = headers.getJoined("accept")?.toLowerCase() ?? "*/*";
  return /text\/(?:event-stream|\*)|\*\/\*/.test(accept);
}

/** Returns the trimmed value of a header field. */
export function headerOf(
  headers: HeaderList,
  name: string,
): string | undefined {
  return headers.getJoined(name)?.trim();
}

/**
 * Checks that a request of the modern era is complete, and that its headers repeat what its body says.
 * @throws {RpcFailure} Of those that HTTP answers with 400.
 */
export function checkModernRequest(
  method: string,
  params: JsonObject,
  headers: HeaderList,
): void {
  const meta = metaOf(params);
  const revision = meta[META.VERSION];
  const header = headerOf(headers, "mcp-protocol-version");
  const missing = [META.VERSION, META.CLIENT_CAPABILITIES].filter((key) =>
    meta[key] === undefined
  );
  if (missing.length > 0 || typeof revision !== "string") {
    throw invalidEnvelope(
      `_meta has no valid ${missing.join(", ") || META.VERSION}`,
    );
  }
  if (!isJsonObject(meta[META.CLIENT_CAPABILITIES])) {
    throw invalidEnvelope(`${META.CLIENT_CAPABILITIES} is no object`);
  }
  if (header !== undefined && header !== revision) {
    throw mismatch("MCP-Protocol-Version");
  }
  if (!modernRevisions.has(revision)) throw unsupported(revision);
  if (header === undefined) throw mismatch("MCP-Protocol-Version");
  if (headerOf(headers, "mcp-method") !== method) throw mismatch("Mcp-Method");
  const target = namedTarget(method, params);
  const name = headerOf(headers, "mcp-name");
  // The client of FastMCP omits it for tasks.
  const mayMiss = target === undefined || method.startsWith("tasks/");
  if (mayMiss && name === undefined) return;
  const decoded = name === undefined ? undefined : decodeHeaderValue(name);
  if (decoded === undefined || target !== undefined && decoded !== target) {
    throw mismatch("Mcp-Name");
  }
}

/** Creates the error for a revision that the gateway does not speak. */
export function unsupported(requested: string): RpcFailure {
  return new RpcFailure(
    RPC.UNSUPPORTED_VERSION,
    "Unsupported protocol version",
    { supported: supportedRevisions, requested },
  );
}

/** Creates the error for a header that does not repeat the body. */
export function mismatch(header: string): RpcFailure {
  return new RpcFailure(
    RPC.HEADER_MISMATCH,
    `Header mismatch: ${header} is missing, or contradicts the body`,
  );
}

function invalidEnvelope(problem: string): RpcFailure {
  return new RpcFailure(RPC.INVALID_PARAMS, `Invalid params: ${problem}`);
}

/** Returns a request with the trace of its headers in `_meta`, where servers behind any transport find it. */
export function withTrace(
  message: RpcRequest,
  headers: HeaderList,
): RpcRequest {
  const traceparent = headers.get("traceparent");
  const tracestate = headers.getJoined("tracestate");
  const meta = metaOf(message.params);
  if (traceparent === undefined || meta["traceparent"] !== undefined) {
    return message;
  }
  const traced = {
    ...meta,
    traceparent,
    ...(tracestate !== undefined && { tracestate }),
  };
  return { ...message, params: withMeta(message.params, traced) };
}
