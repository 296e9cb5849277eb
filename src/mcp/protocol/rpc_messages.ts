import type { JsonRpcId } from "../../base/errors.ts";
import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
} from "../../base/json.ts";
import { parseExactJson } from "../../base/json/exact_json.ts";

/** Codes of JSON-RPC 2.0 and of MCP. */
export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  /** Of revisions before 2026-07-28; the SDKs use it for everything that HTTP rejects. */
  SERVER_ERROR: -32000,
  SESSION_NOT_FOUND: -32001,
  /** Of revisions before 2026-07-28. */
  RESOURCE_NOT_FOUND: -32002,
  HEADER_MISMATCH: -32020,
  MISSING_CAPABILITY: -32021,
  UNSUPPORTED_VERSION: -32022,
  /** `URLElicitationRequiredError` of 2025-11-25: the request has not run, and is sent again after the user was there. */
  URL_ELICITATION_REQUIRED: -32042,
} as const;

/** The `error` of a JSON-RPC response. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A JSON-RPC message. */
export type RpcMessage =
  | {
    readonly kind: "request";
    readonly id: JsonRpcId;
    readonly method: string;
    readonly params: JsonObject;
  }
  | {
    readonly kind: "notification";
    readonly method: string;
    readonly params: JsonObject;
  }
  | {
    readonly kind: "result";
    readonly id: JsonRpcId;
    readonly result: JsonObject;
  }
  | {
    readonly kind: "error";
    readonly id: JsonRpcId | undefined;
    readonly error: RpcError;
  };

/** A request that a peer has answered with an error, or is to be answered with one. */
export class RpcFailure extends Error implements RpcError {
  override readonly name = "RpcFailure";

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }

  /** Returns the failure that an error response describes. */
  static of({ code, message, data }: RpcError): RpcFailure {
    return new RpcFailure(code, message, data);
  }
}

/** Deeper messages are rejected: writing them would overflow the stack. */
export const MAX_DEPTH = 128;

/** Parses a JSON text; `undefined` if it is invalid, or nested more than 128 deep. */
export function parseRpc(text: string): unknown {
  try {
    const value = parseExactJson(text);
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value;
  } catch {
    // The error would quote the text, which may contain a secret.
    return undefined;
  }
}

/** Reads a JSON-RPC message; `undefined` if it is none. */
export function readMessage(value: unknown): RpcMessage | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params = {}, result, error } = value;
  const isId = typeof id === "string" ||
    typeof id === "number" && Number.isInteger(id);
  if (typeof method === "string") {
    if (!isJsonObject(params)) return undefined;
    if (isId) return { kind: "request", id, method, params };
    return id === undefined
      ? { kind: "notification", method, params }
      : undefined;
  }
  if (isJsonObject(result) && isId) return { kind: "result", id, result };
  if (!isJsonObject(error) || typeof error["code"] !== "number") {
    return undefined;
  }
  const { code, message = "", data } = error;
  return {
    kind: "error",
    id: isId ? id : undefined,
    error: {
      code,
      // Converting an object may throw.
      message: typeof message === "string" ? message : "",
      ...(data !== undefined && { data }),
    },
  };
}

/** Writes a request. */
export function writeRequest(
  id: JsonRpcId,
  method: string,
  params: JsonObject,
): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** Writes a notification. */
export function writeNotification(method: string, params: JsonObject): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    method,
    ...(Object.keys(params).length > 0 && { params }),
  });
}

/** Writes the response to a request. */
export function writeResult(id: JsonRpcId, result: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

/** Writes an error response; `null` for a request that could not be read. */
export function writeError(
  id: JsonRpcId | null,
  { code, message, data }: RpcError,
): string {
  const error = { code, message, ...(data !== undefined && { data }) };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}
