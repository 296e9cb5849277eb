import {
  GatewayError,
  JsonRpcError,
  type JsonRpcId,
} from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import {
  joinShapes,
  JsonSelection,
  type JsonShape,
  WHOLE,
} from "../../base/json/json_shape.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { lookAlikeRemover } from "../../http/look_alikes.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { RequestMessage } from "../../http/message.ts";
import { readJsonBody } from "./json_body.ts";

/** Longer messages are not read: expressions that read `mcp` then error, and rules deny the request. */
const MAX_MESSAGE_BYTES = 1 << 20;

/** Resources of a subscription; the gateway itself takes no more. */
const MAX_SUBSCRIBED = 256;

/** `HeaderMismatch` of MCP 2026-07-28. */
const HEADER_MISMATCH = -32020;

/**
 * The method of the JSON-RPC message in the body and its target, such as
 * `{"methodName": "tools/call", "sessionId": "s1", "tool": {"name": "search", "arguments": {"query": "a"}}}`.
 */
export interface McpMessage {
  readonly sessionId?: string;
  readonly methodName?: string;
  /** Server of the target, behind an endpoint of several. */
  readonly server?: string;
  readonly tool?: McpTarget;
  readonly prompt?: McpTarget;
  readonly resource?: McpTarget;
}

type TargetContext = Pick<PolicyContext, "mcpServer" | "discoveryRole">;

/**
 * Returns a message as rules see it behind an endpoint of several servers: with the server of its target, and with the tool that a
 * call of `call_tool` stands for. Searching for tools is listing them. `undefined` for a call that names no tool.
 * @param template Of URIs, in place of the name of the target.
 */
export function resolveTarget(
  message: McpMessage,
  context: TargetContext,
  template?: string,
): McpMessage | undefined {
  const role = message.tool && context.discoveryRole?.(message.tool.name);
  if (role === undefined) return withServer(message, context, template);
  const { tool, ...rest } = message;
  if (role !== "call") return { ...rest, methodName: "tools/list" };
  const { name, arguments: args } = tool?.arguments ?? {};
  if (typeof name !== "string") return undefined;
  const inner = isJsonObject(args) ? { name, arguments: args } : { name };
  return withServer({ ...rest, tool: inner }, context);
}

function withServer(
  message: McpMessage,
  context: TargetContext,
  template?: string,
): McpMessage {
  const { tool, prompt, resource } = message;
  const target = tool ?? prompt ?? resource;
  if (target === undefined) return message;
  const kind = tool ? "tool" : prompt ? "prompt" : "resource";
  const server = context.mcpServer?.(kind, template ?? target.name);
  return server === undefined ? message : { ...message, server };
}

/** A tool, prompt or resource that a message names. */
export interface McpTarget {
  readonly name: string;
  /** Arguments, for tools. */
  readonly arguments?: JsonObject;
}

/** Reads the content of the variable `mcp`. */
export class McpReader {
  /** Members of tool arguments to read. */
  readonly argumentShape: JsonShape;
  readonly #selection: JsonSelection;

  constructor(argumentShape: JsonShape) {
    this.argumentShape = argumentShape;
    this.#selection = new JsonSelection({
      method: WHOLE,
      params: {
        name: WHOLE,
        uri: WHOLE,
        // `call_tool` has the tool and its arguments within its own.
        arguments: joinShapes(argumentShape, {
          name: WHOLE,
          arguments: argumentShape,
        }),
        ref: { name: WHOLE, uri: WHOLE },
        notifications: { resourceSubscriptions: WHOLE },
      },
    });
  }

  /**
   * Returns only the session for a request without a body, nothing for a body that is not exactly one JSON-RPC message, which makes
   * expressions error and rules deny, and for a subscription to several resources a message for each of them.
   * @throws {GatewayError} If backends may read another message.
   */
  async read(request: RequestMessage): Promise<readonly McpMessage[]> {
    const { headers } = request;
    removeLookAlikes(headers);
    const body = await readJsonBody(
      request,
      MAX_MESSAGE_BYTES,
      this.#selection,
    );
    if (body === undefined) return [];
    const sessionId = headers.getJoined("mcp-session-id");
    const session = sessionId === undefined ? {} : { sessionId };
    if (body === null) return [session];
    const messages = messagesOf(body);
    for (const message of messages) {
      const header = findContradiction(headers, message);
      if (header === undefined) continue;
      throw headerMismatch(header, await readId(request));
    }
    return messages.map((message) => ({ ...session, ...message }));
  }
}

/** A backend on CGI or WSGI would take them for the headers that are compared. */
const removeLookAlikes = lookAlikeRemover(["mcp-method", "mcp-name"]);

/** Returns the header that contradicts the body: servers of revision 2026-07-28 reject it, others may trust it. */
function findContradiction(
  headers: HeaderList,
  message: McpMessage,
): string | undefined {
  const method = headers.getJoined("mcp-method");
  if (method !== undefined && method !== message.methodName) {
    return "Mcp-Method";
  }
  const name = headers.getJoined("mcp-name");
  const target = message.tool ?? message.prompt ?? message.resource;
  if (name === undefined || target === undefined) return undefined;
  return decodeName(name) === target.name ? undefined : "Mcp-Name";
}

/** Creates the error that revision 2026-07-28 of MCP prescribes. */
function headerMismatch(
  header: string,
  id: JsonRpcId | undefined,
): JsonRpcError {
  return new JsonRpcError(
    "bad_request",
    `Cannot accept the body, backends may read it differently: ${header} contradicts it`,
    {
      id,
      code: HEADER_MISMATCH,
      message: `Header mismatch: ${header} contradicts the body`,
    },
  );
}

/** Reads the id of a request that is rejected; `undefined` if there is none, or more than one. */
async function readId(request: RequestMessage): Promise<JsonRpcId | undefined> {
  try {
    const body = await readJsonBody(request, MAX_MESSAGE_BYTES, idSelection);
    const id = body?.["id"];
    return typeof id === "string" || typeof id === "number" ? id : undefined;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

const idSelection = new JsonSelection({ id: WHOLE });

/** Decodes `=?base64?…?=`, the encoding of names that a header cannot hold; `undefined` if it is invalid. */
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

type Target = readonly [kind: "tool" | "prompt" | "resource", name: unknown];

function nameOf(kind: "tool" | "prompt"): (params: JsonObject) => Target {
  return ({ name }) => [kind, name];
}

function uriOf({ uri }: JsonObject): Target {
  return ["resource", uri];
}

/** Return the field of `mcp` for the target of a message, and its name, by method. */
const targets: ReadonlyMap<string, (params: JsonObject) => Target> = new Map([
  ["tools/call", nameOf("tool")],
  ["prompts/get", nameOf("prompt")],
  ["resources/read", uriOf],
  ["resources/subscribe", uriOf],
  ["resources/unsubscribe", uriOf],
  ["completion/complete", ({ ref }) => {
    const { name, uri } = isJsonObject(ref) ? ref : {};
    if (name === undefined) return ["resource", uri];
    // Servers may read either.
    return ["prompt", uri === undefined ? name : null];
  }],
  ["subscriptions/listen", ({ notifications }) => {
    const uris = subscribedUris(notifications);
    // Expressions are about one resource.
    const isOne = Array.isArray(uris) && uris.length <= 1;
    return ["resource", isOne ? uris[0] : null];
  }],
]);

/** Returns the list of resources of a subscription, as the client sends it. */
function subscribedUris(notifications: unknown): unknown {
  const { resourceSubscriptions: uris = [] } = isJsonObject(notifications)
    ? notifications
    : {};
  return uris;
}

/** Reads a JSON-RPC message, a subscription to several resources as one for each; see `McpReader.read`. */
function messagesOf(body: JsonObject): readonly McpMessage[] {
  const { method: methodName, params } = body;
  const message = mcpMessageOf(body);
  if (message !== undefined) return [message];
  if (methodName !== "subscriptions/listen" || !isJsonObject(params)) return [];
  const uris = subscribedUris(params["notifications"]);
  if (!Array.isArray(uris) || uris.length > MAX_SUBSCRIBED) return [];
  const messages = uris.filter((name) => typeof name === "string")
    .map((name) => ({ methodName, resource: { name } }));
  return messages.length < uris.length ? [] : messages;
}

/** Reads a JSON-RPC message, except its session; `undefined` if it is invalid, or has several targets. */
export function mcpMessageOf(message: JsonObject): McpMessage | undefined {
  const { method: methodName, params } = message;
  // A response to a request of the server.
  if (methodName === undefined) return {};
  if (typeof methodName !== "string") return undefined;
  const target = targets.get(methodName);
  if (target === undefined) return { methodName };
  const fields = isJsonObject(params) ? params : {};
  const [field, name] = target(fields);
  if (name === undefined && field === "resource") return { methodName };
  if (typeof name !== "string") return undefined;
  if (field === "prompt") return { methodName, prompt: { name } };
  if (field === "resource") return { methodName, resource: { name } };
  const args = fields["arguments"] ?? undefined;
  if (args === undefined) return { methodName, tool: { name } };
  return isJsonObject(args)
    ? { methodName, tool: { name, arguments: args } }
    : undefined;
}
