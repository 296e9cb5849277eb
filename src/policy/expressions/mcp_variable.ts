import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { mapValue, type Value } from "../../cel/library.ts";
import { claimsValue, lazyMap } from "../../cel/values.ts";
import type { RequestMessage } from "../../http/message.ts";
import { peekBody } from "./peeked_body.ts";
import { isForm } from "./readable_content.ts";
import { ownField, parseUnambiguous } from "./unambiguous_json.ts";

/** Longer messages are not looked into; expressions that read `mcp` then fail, which denies. */
const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * What the JSON-RPC message in the body asks for, such as
 * `{"methodName": "tools/call", "sessionId": "s1", "tool": {"name": "search", "arguments": {"query": "a"}}}`.
 */
export interface McpMessage {
  readonly sessionId?: string;
  readonly methodName?: string;
  readonly tool?: McpTarget;
  readonly prompt?: McpTarget;
  readonly resource?: McpTarget;
}

/** What a message asks for by name. */
interface McpTarget {
  readonly name: string;
  /** Of a tool. */
  readonly arguments?: JsonObject;
}

/**
 * Reads what the variable `mcp` tells: nothing but the session for a request without body, `undefined` for a body that is no single
 * JSON-RPC message, so that nothing passes that the expression has not seen.
 */
export async function readMcpMessage(
  request: RequestMessage,
): Promise<McpMessage | undefined> {
  const bytes = await peekBody(request, MAX_MESSAGE_BYTES);
  if (bytes === undefined) return undefined;
  const sessionId = request.headers.getJoined("mcp-session-id");
  const session = sessionId === undefined ? {} : { sessionId };
  if (bytes.length === 0) return session;
  if (isForm(request.headers)) return undefined;
  try {
    const message = parseUnambiguous(bytes);
    const asked = isJsonObject(message) ? readMessage(message) : undefined;
    return asked && { ...session, ...asked };
  } catch {
    return undefined;
  }
}

/** The variable `mcp`. */
export function mcpValue(message: McpMessage): Value {
  const fields = Object.entries(message).map(([name, value]) =>
    [name, typeof value === "string" ? value : targetValue(value)] as const
  );
  return mapValue(new Map(fields));
}

/** By method: the field of `mcp`, and the parameter that names what is asked for. */
const targets: Readonly<
  Record<string, readonly ["tool" | "prompt" | "resource", string] | undefined>
> = {
  "tools/call": ["tool", "name"],
  "prompts/get": ["prompt", "name"],
  "resources/read": ["resource", "uri"],
  "resources/subscribe": ["resource", "uri"],
  "resources/unsubscribe": ["resource", "uri"],
};

/** `undefined` for a message that cannot be understood. */
function readMessage(message: JsonObject): McpMessage | undefined {
  const methodName = ownField(message, "method");
  // An answer to a request of the server.
  if (methodName === undefined) return {};
  if (typeof methodName !== "string") return undefined;
  const target = Object.hasOwn(targets, methodName)
    ? targets[methodName]
    : undefined;
  if (target === undefined) return { methodName };
  const [field, parameter] = target;
  const params = ownField(message, "params");
  const name = ownField(params, parameter);
  if (name === undefined && field === "resource") return { methodName };
  if (typeof name !== "string") return undefined;
  const args = field === "tool"
    ? ownField(params, "arguments") ?? undefined
    : undefined;
  if (args === undefined) return { methodName, [field]: { name } };
  if (!isJsonObject(args)) return undefined;
  return { methodName, [field]: { name, arguments: args } };
}

/** Arguments may be large: they are converted when an expression asks for them. */
function targetValue({ name, arguments: args }: McpTarget): Value {
  return lazyMap(() => ["name", "arguments"], (field) => {
    if (field === "name") return name;
    return field === "arguments" && args !== undefined
      ? claimsValue(args)
      : undefined;
  });
}
