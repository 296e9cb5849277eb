import { GatewayError } from "../../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { JsonSpan } from "../../../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../../../base/json/json_shape.ts";
import type { HeaderList } from "../../../http/header_list.ts";
import type { RequestMessage } from "../../../http/message.ts";
import { readJsonBody } from "../../../policy/expressions/json_body.ts";
import {
  PARENT_LENGTH,
  type ParentContext,
  parseParent,
} from "../../../telemetry/spans/trace_context.ts";

/** Longer bodies are not read for spans. */
const MAX_MESSAGE_BYTES = 64 * 1024;
const MAX_NAME_LENGTH = 256;
const SPAN_NAME_LENGTH = 128;

/** A message of MCP, as spans show it. */
export interface RpcMessage {
  /** Such as `tools/call`. */
  readonly method: string;
  readonly id: string | undefined;
  readonly tool: string | undefined;
  readonly prompt: string | undefined;
  readonly resource: string | undefined;
  /** Revision of MCP that `initialize` requests. */
  readonly protocolVersion: string | undefined;
  /** The span in `params._meta` that has caused the message. */
  readonly parent: ParentContext | undefined;
  /** The `traceparent` that named it; `undefined` where another one cannot take its place. */
  readonly traceparent: PlacedText | undefined;
}

/** A text in the body, and the index of its first byte. */
export interface PlacedText {
  readonly text: string;
  readonly at: number;
}

/** Returns whether a request looks like a message of MCP: its transport demands these header fields. */
export function mayBeRpc({ method, headers }: RequestMessage): boolean {
  if (method !== "POST") return false;
  if (headers.has("mcp-protocol-version") || headers.has("mcp-session-id")) {
    return true;
  }
  const accept = headers.getJoined("accept") ?? "";
  return accept.includes("application/json") &&
    accept.includes("text/event-stream");
}

/** Reads a message of MCP, and leaves it unchanged; `undefined` for any other request, and for one that spans cannot show. */
export async function readRpcMessage(
  request: RequestMessage,
): Promise<RpcMessage | undefined> {
  const spans = new Map<string, JsonSpan>();
  const body = await readSmallBody(request, selection, spans);
  const method = body?.["method"];
  if (body === undefined || typeof method !== "string") return undefined;
  if (body["jsonrpc"] !== "2.0" || !knownMethod.test(method)) return undefined;
  const params = isJsonObject(body["params"]) ? body["params"] : {};
  const name = textOf(params["name"]);
  return {
    method,
    id: idOf(body["id"]),
    tool: method === "tools/call" ? name : undefined,
    prompt: method === "prompts/get" ? name : undefined,
    resource: method.startsWith("resources/")
      ? textOf(params["uri"])
      : undefined,
    protocolVersion: method === "initialize"
      ? textOf(params["protocolVersion"])
      : undefined,
    parent: parentOf(params["_meta"]),
    traceparent: placeOf(request.headers, params["_meta"], spans),
  };
}

/**
 * Reads members of a small JSON body, as policies would; `undefined` when it is long, of unknown length, or not readable. Spans must
 * not make a request fail, wait for a long body, or use the memory that others need.
 */
export async function readSmallBody(
  request: RequestMessage,
  members: JsonSelection,
  spans?: Map<string, JsonSpan>,
): Promise<JsonObject | undefined> {
  const { body, held, expectsContinue, upgrade } = request;
  const length = body?.length;
  if (length === undefined || length > MAX_MESSAGE_BYTES) return undefined;
  if (expectsContinue || upgrade !== undefined) return undefined;
  if (held?.hasRoom(length) === false) return undefined;
  try {
    return await readJsonBody(request, MAX_MESSAGE_BYTES, members, spans) ??
      undefined;
  } catch (error) {
    if (error instanceof GatewayError && unreadable.has(error.code)) {
      return undefined;
    }
    throw error;
  }
}

/** Errors of a body that the gateway forwards all the same. */
const unreadable: ReadonlySet<string> = new Set([
  "bad_request",
  "unsupported_media_type",
]);

const selection = new JsonSelection({
  jsonrpc: WHOLE,
  id: WHOLE,
  method: WHOLE,
  params: {
    name: WHOLE,
    uri: WHOLE,
    protocolVersion: WHOLE,
    _meta: { traceparent: WHOLE, tracestate: WHOLE },
  },
});

/** Methods of MCP; others would give clients a say in the names of spans. */
const knownMethod =
  /^(?:initialize|ping|server\/discover|(?:tools|prompts|resources|completion|logging|notifications|tasks|sampling|roots|elicitation|subscriptions)\/[A-Za-z/_]{1,48})$/;

/** Returns the name of the span of a message: `tools/call search`. */
export function rpcSpanName({ method, tool, prompt }: RpcMessage): string {
  const target = tool ?? prompt;
  return target === undefined
    ? method
    : `${method} ${target.slice(0, SPAN_NAME_LENGTH)}`;
}

/** Returns the revision and session of MCP that the header fields name. */
export function rpcSession(request: HeaderList, response?: HeaderList): {
  readonly protocolVersion: string | undefined;
  readonly sessionId: string | undefined;
} {
  return {
    protocolVersion: request.get("mcp-protocol-version"),
    // The response to `initialize` has the ID of the new session.
    sessionId: request.get("mcp-session-id") ??
      response?.get("mcp-session-id"),
  };
}

function parentOf(meta: unknown): ParentContext | undefined {
  if (!isJsonObject(meta)) return undefined;
  const { traceparent, tracestate } = meta;
  if (typeof traceparent !== "string") return undefined;
  return parseParent(
    traceparent,
    typeof tracestate === "string" ? tracestate : "",
  );
}

/** Fields that name the bytes of the body, which must stay as they are. */
const digests = ["content-digest", "content-md5", "digest", "signature-input"];

/** Returns the place of a `traceparent` without escapes that is as long as those that the gateway writes. */
function placeOf(
  headers: HeaderList,
  meta: unknown,
  spans: ReadonlyMap<string, JsonSpan>,
): PlacedText | undefined {
  const span = spans.get("params._meta.traceparent");
  const text = isJsonObject(meta) ? meta["traceparent"] : undefined;
  if (typeof text !== "string" || span === undefined) return undefined;
  const isPlain = text.length === PARENT_LENGTH &&
    span.end - span.start === PARENT_LENGTH + '""'.length;
  return isPlain && !digests.some((name) => headers.has(name))
    ? { text, at: span.start + 1 }
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string"
    ? value.slice(0, MAX_NAME_LENGTH)
    : undefined;
}

function idOf(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : textOf(value);
}
