import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonSelection, type JsonShape, WHOLE } from "../../base/json_shape.ts";
import { mapValue, type Value } from "../../cel/library.ts";
import { claimsValue, lazyMap } from "../../cel/values.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";
import { ambiguousBody, readJsonBody } from "./json_body.ts";

/** Longer messages are not looked into; expressions that read `mcp` then fail, which denies. */
const MAX_MESSAGE_BYTES = 1 << 20;

/**
 * The method of the JSON-RPC message in the body and its target, such as
 * `{"methodName": "tools/call", "sessionId": "s1", "tool": {"name": "search", "arguments": {"query": "a"}}}`.
 */
export interface McpMessage {
  readonly sessionId?: string;
  readonly methodName?: string;
  readonly tool?: McpTarget;
  readonly prompt?: McpTarget;
  readonly resource?: McpTarget;
}

/** A tool, prompt or resource that a message names. */
interface McpTarget {
  readonly name: string;
  /** Of a tool. */
  readonly arguments?: JsonObject;
}

/** Reads the variable `mcp`. */
export class McpReader {
  /** Members to read of the arguments of tools. */
  readonly argumentShape: JsonShape;
  readonly #selection: JsonSelection;

  constructor(argumentShape: JsonShape) {
    this.argumentShape = argumentShape;
    this.#selection = new JsonSelection({
      method: WHOLE,
      params: { name: WHOLE, uri: WHOLE, arguments: argumentShape },
    });
  }

  /**
   * Returns nothing but the session for a request without body, `undefined` for a body that is no single JSON-RPC message, so that
   * nothing passes that the expression has not seen.
   * @throws {GatewayError} When the backend may read another message.
   */
  async read(request: RequestMessage): Promise<McpMessage | undefined> {
    const { headers } = request;
    const body = await readJsonBody(
      request,
      MAX_MESSAGE_BYTES,
      this.#selection,
    );
    if (body === undefined) return undefined;
    const sessionId = headers.getJoined("mcp-session-id");
    const session = sessionId === undefined ? {} : { sessionId };
    if (body === null) return session;
    const message = readMessage(body);
    if (message === undefined) return undefined;
    assertSameMessage(headers, message);
    return { ...session, ...message };
  }
}

/**
 * Rejects headers that contradict the body: servers of revision 2026-07-28 reject those as well, others may go by the header.
 * @throws {GatewayError} `bad_request`
 */
function assertSameMessage(headers: HeaderList, message: McpMessage): void {
  const method = headers.getJoined("mcp-method");
  if (method !== undefined && method !== message.methodName) {
    throw ambiguousBody("Mcp-Method is not its method");
  }
  const name = headers.getJoined("mcp-name");
  const target = message.tool ?? message.prompt ?? message.resource;
  if (name === undefined || target === undefined) return;
  if (decodeName(name) !== target.name) {
    throw ambiguousBody("Mcp-Name is not its name or URI");
  }
}

/** Decodes `=?base64?…?=`, the form of names that cannot stand in a header; `undefined` when it cannot be decoded. */
function decodeName(name: string): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/i.exec(name) ?? [];
  if (encoded === undefined) return name;
  try {
    return decoder.decode(Uint8Array.fromBase64(encoded));
  } catch {
    // Neither is it any name.
    return undefined;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The variable `mcp`. */
export function mcpValue(message: McpMessage): Value {
  const fields = Object.entries(message).map(([name, value]) =>
    [name, typeof value === "string" ? value : targetValue(value)] as const
  );
  return mapValue(new Map(fields));
}

/** By method: the field of `mcp`, and the parameter with the name of the target. */
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
  const { method: methodName, params } = message;
  // A response to a request of the server.
  if (methodName === undefined) return {};
  if (typeof methodName !== "string") return undefined;
  const target = Object.hasOwn(targets, methodName)
    ? targets[methodName]
    : undefined;
  if (target === undefined) return { methodName };
  const [field, parameter] = target;
  const fields = isJsonObject(params) ? params : {};
  const name = fields[parameter];
  if (name === undefined && field === "resource") return { methodName };
  if (typeof name !== "string") return undefined;
  const args = field === "tool" ? fields["arguments"] ?? undefined : undefined;
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
