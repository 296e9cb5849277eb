/** A client of an MCP server behind the gateway: Streamable HTTP, one request at a time. */
import {
  eventsOf,
  type Relayed,
  type RelayRequest,
  type Sender,
  textOf,
} from "./relay.ts";

const PROTOCOL_VERSION = "2025-11-25";

/** A tool as the server describes it. */
export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: JsonSchema;
}

/** The parts of a JSON Schema that the form uses. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** A response that is no success. */
export class McpProblem extends Error {
  readonly status: number;
  /** `WWW-Authenticate` of a 401 or 403. */
  readonly challenge: string;

  constructor(status: number, message: string, challenge = "") {
    super(message);
    this.status = status;
    this.challenge = challenge;
  }
}

interface RpcMessage {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A session with a server. */
export class McpClient {
  readonly #target: Pick<RelayRequest, "port" | "url">;
  readonly #sender: Sender;
  readonly #headers: Record<string, string>;
  #id = 0;

  /** @param headers Such as `authorization`. */
  constructor(
    target: Pick<RelayRequest, "port" | "url">,
    sender: Sender,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#target = target;
    this.#sender = sender;
    this.#headers = { ...headers };
  }

  /** Begins the session; returns the server's name and version. @throws {McpProblem} */
  async initialize(): Promise<string> {
    const result = await this.#call("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: "Gateway playground", version: "1" },
    });
    const version = String(result["protocolVersion"] ?? PROTOCOL_VERSION);
    this.#headers["mcp-protocol-version"] = version;
    const response = await this.#send("notifications/initialized", {
      jsonrpc: "2.0",
      method: "notifications/initialized",
    });
    await textOf(response);
    const { name = "server", version: release = "" } = Object(
      result["serverInfo"],
    );
    return `${name} ${release}`.trim();
  }

  /** Lists all tools. @throws {McpProblem} */
  async listTools(): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    let params: { readonly cursor?: string } | undefined = {};
    while (params !== undefined) {
      const result = await this.#call("tools/list", params);
      if (Array.isArray(result["tools"])) tools.push(...result["tools"]);
      const cursor = result["nextCursor"];
      params = typeof cursor === "string" ? { cursor } : undefined;
    }
    return tools;
  }

  /** Calls a tool; returns the result as the server sent it. @throws {McpProblem} */
  callTool(name: string, given: unknown): Promise<unknown> {
    return this.#call("tools/call", { name, arguments: given });
  }

  async #call(
    method: string,
    params: unknown,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#id;
    const response = await this.#send(
      method,
      { jsonrpc: "2.0", id, method, params },
    );
    const session = response.headers.get("mcp-session-id");
    if (session !== null) this.#headers["mcp-session-id"] = session;
    const message = await readMessage(response, id);
    if (message?.error !== undefined) {
      throw new McpProblem(
        response.status,
        `${message.error.message} (${message.error.code})`,
      );
    }
    if (message?.result !== undefined) return message.result;
    throw new McpProblem(response.status, "the response has no result");
  }

  async #send(title: string, message: unknown): Promise<Relayed> {
    const response = await this.#sender.send(title, {
      ...this.#target,
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...this.#headers,
      },
      body: JSON.stringify(message),
    });
    if (response.status < 400) return response;
    const text = await textOf(response);
    throw new McpProblem(
      response.status,
      `${title}: status ${response.status}: ${text.trim() || "no body"}`,
      response.headers.get("www-authenticate") ?? "",
    );
  }
}

/** Reads the response to a request, which is JSON or an event among others. */
async function readMessage(
  response: Relayed,
  id: number,
): Promise<RpcMessage | undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    return JSON.parse(await textOf(response));
  }
  for await (const data of eventsOf(response)) {
    const message: RpcMessage = JSON.parse(data);
    if (message.id === id && message.method === undefined) return message;
  }
  return undefined;
}
