import { isJsonObject, type JsonObject } from "../base/json.ts";
import { mapValue, type Value } from "../cel/library.ts";
import { claimsValue, lazyMap } from "../cel/values.ts";
import type { RequestMessage } from "../http/message.ts";
import { ownField } from "./own_field.ts";
import { peekBody } from "./peeked_body.ts";
import { parseUnambiguous } from "./unambiguous_json.ts";

/** Longer messages are not looked into; expressions that read `mcp` then fail, which denies. */
const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * The variable `mcp`: what the JSON-RPC message in the body asks for, such as
 * `{"methodName": "tools/call", "sessionId": "s1", "tool": {"name": "search", "arguments": {"query": "a"}}}`.
 *
 * Nothing but the session for a request without body; `undefined` for a body that is no single JSON-RPC message, so that nothing passes
 * that the expression has not seen.
 */
export async function readMcpVariable(
  request: RequestMessage,
): Promise<Value | undefined> {
  const bytes = await peekBody(request, MAX_MESSAGE_BYTES);
  if (bytes === undefined) return undefined;
  const fields = new Map<string, Value>();
  const session = request.headers.getJoined("mcp-session-id");
  if (session !== undefined) fields.set("sessionId", session);
  if (bytes.length === 0) return mapValue(fields);
  try {
    const message = parseUnambiguous(bytes);
    if (!isJsonObject(message)) return undefined;
    return addMessage(fields, message) ? mapValue(fields) : undefined;
  } catch {
    return undefined;
  }
}

/** By method: the field of `mcp`, and the parameter that names what is asked for. */
const targets: Readonly<Record<string, readonly [string, string] | undefined>> =
  {
    "tools/call": ["tool", "name"],
    "prompts/get": ["prompt", "name"],
    "resources/read": ["resource", "uri"],
    "resources/subscribe": ["resource", "uri"],
    "resources/unsubscribe": ["resource", "uri"],
  };

/** Adds what the message asks for. @returns Whether it is a message that can be understood. */
function addMessage(fields: Map<string, Value>, message: JsonObject): boolean {
  const method = ownField(message, "method");
  // An answer to a request of the server.
  if (method === undefined) return true;
  if (typeof method !== "string") return false;
  fields.set("methodName", method);
  const target = Object.hasOwn(targets, method) ? targets[method] : undefined;
  if (target === undefined) return true;
  const [field, parameter] = target;
  const params = ownField(message, "params");
  const name = ownField(params, parameter);
  if (typeof name !== "string") return false;
  const args = field === "tool"
    ? ownField(params, "arguments") ?? undefined
    : undefined;
  if (args !== undefined && !isJsonObject(args)) return false;
  fields.set(field, targetValue(name, args));
  return true;
}

/** Arguments may be large: they are converted when an expression asks for them. */
function targetValue(name: string, args: JsonObject | undefined): Value {
  return lazyMap(() => ["name", "arguments"], (field) => {
    if (field === "name") return name;
    return field === "arguments" && args !== undefined
      ? claimsValue(args)
      : undefined;
  });
}
