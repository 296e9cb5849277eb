import { mapValue, type Value } from "../cel/library.ts";
import type { RequestMessage } from "../http/message.ts";
import { peekBody } from "./peeked_body.ts";

/** Longer messages are not looked into; expressions that read `mcp` then fail, which denies. */
const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * The variable `mcp`: what the JSON-RPC message in the body asks for, such as
 * `{"methodName": "tools/call", "tool": {"name": "search"}}`.
 *
 * Without fields for a request without body; `undefined` for a body that is no single JSON-RPC message, so that nothing passes
 * that the expression has not seen.
 */
export async function readMcpVariable(
  request: RequestMessage,
): Promise<Value | undefined> {
  const bytes = await peekBody(request, MAX_MESSAGE_BYTES);
  if (bytes === undefined) return undefined;
  if (bytes.length === 0) return mapValue(new Map());
  try {
    const message = parse(bytes);
    return isObject(message) ? describeMessage(message) : undefined;
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

function describeMessage(message: object): Value | undefined {
  const method = ownField(message, "method");
  // An answer to a request of the server.
  if (method === undefined) return mapValue(new Map());
  if (typeof method !== "string") return undefined;
  const fields = new Map<string, Value>([["methodName", method]]);
  const target = Object.hasOwn(targets, method) ? targets[method] : undefined;
  if (target === undefined) return mapValue(fields);
  const [field, parameter] = target;
  const name = ownField(ownField(message, "params"), parameter);
  if (typeof name !== "string") return undefined;
  fields.set(field, mapValue(new Map([["name", name]])));
  return mapValue(fields);
}

/** @throws {SyntaxError | TypeError} */
function parse(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** @throws {TypeError} When there is a field of that name in another case: some servers would read that one. */
function ownField(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined;
  for (const key of Object.keys(value)) {
    // Both ways, because of letters such as the long s that only fold in one.
    if (key !== name && key.toUpperCase().toLowerCase() === name) {
      throw new TypeError(`ambiguous field ${JSON.stringify(key)}`);
    }
  }
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
