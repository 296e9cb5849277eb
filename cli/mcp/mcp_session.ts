import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  parseJson,
} from "../../src/base/json.ts";
import {
  initializeRequest,
  type Probe,
  probe,
  type ProbeOptions,
  PROTOCOL_VERSION,
} from "./probe.ts";

/** An error of the MCP server; the message is for the user. */
export class McpError extends Error {
  override readonly name = "McpError";

  /** @param status HTTP status of the response. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** A session with an MCP server over streamable HTTP, for tool calls. */
export class McpSession {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #id: string | undefined;
  #requests = 1;
  #missing: readonly string[] = [];

  private constructor(
    url: string,
    token: string | undefined,
    id: string | undefined,
  ) {
    this.#url = url;
    this.#token = token;
    this.#id = id;
  }

  /** Initializes a session. @throws {McpError | ProbeError} */
  static async open(url: string, token?: string): Promise<McpSession> {
    const { headers, ...init } = initializeRequest();
    const response = await probe(url, {
      ...init,
      headers: { ...headers, ...authorization(token) },
    }, waiting);
    resultOf(response);
    const id = response.headers.get("mcp-session-id") ?? undefined;
    const session = new McpSession(url, token, id);
    await session.#send({ method: "notifications/initialized" });
    return session;
  }

  /** Servers behind the endpoint that were missing in the latest list, with the reason, such as `docs: is not reachable`. */
  get missingServers(): readonly string[] {
    return this.#missing;
  }

  /** Lists the tools of the server, on all pages. @throws {McpError | ProbeError} */
  async listTools(): Promise<readonly JsonObject[]> {
    const tools: JsonObject[] = [];
    let cursor: unknown;
    do {
      const result = await this.request("tools/list", {
        ...(cursor !== undefined && { cursor }),
      });
      const page = result["tools"];
      if (Array.isArray(page)) tools.push(...page.filter(isJsonObject));
      this.#missing = objectsAt(result, "_meta", "gateway/unavailableServers")
        .map(({ name, reason }) => `${name}: ${reason}`);
      cursor = result["nextCursor"];
    } while (typeof cursor === "string" && tools.length < 10_000);
    return tools;
  }

  /** Sends a request and returns its result. @throws {McpError | ProbeError} */
  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#requests;
    return resultOf(await this.#send({ id, method, params }));
  }

  /** Ends the session, if the server has sessions. */
  async close(): Promise<void> {
    if (this.#id === undefined) return;
    await probe(this.#url, { method: "DELETE", headers: this.#headers() });
  }

  async #send(message: JsonObject): Promise<Probe> {
    return await probe(this.#url, {
      method: "POST",
      headers: this.#headers(),
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    }, waiting);
  }

  #headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": PROTOCOL_VERSION,
      ...(this.#id !== undefined && { "mcp-session-id": this.#id }),
      ...authorization(this.#token),
    };
  }
}

function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Waits a minute for the response of a tool, and skips other messages, such as progress. */
const waiting: ProbeOptions = {
  isComplete: (events) => findResponse(events) !== undefined,
  timeoutMs: 60_000,
};

/** Reads the result from a JSON response, or from an event stream. */
function resultOf({ status, headers, text, json }: Probe): JsonObject {
  const isStream = headers.get("content-type")?.startsWith("text/event-stream");
  const message = isStream ? findResponse(text) : json;
  if (!isJsonObject(message)) {
    const [reason = ""] = text.trim().split("\n");
    const isReason = status >= 400 && !isStream && reason !== "" &&
      !reason.startsWith("<");
    throw new McpError(
      status,
      isReason
        ? `status ${status}: ${reason.slice(0, 300)}${
          adviceOf(status, headers)
        }`
        : `status ${status} without a JSON-RPC response`,
    );
  }
  const { error, result } = message;
  if (isJsonObject(error)) {
    const { code, message: reason } = error;
    const isDenied = reason === "the request is not allowed";
    throw new McpError(
      status,
      `status ${status}, error ${code}: ${reason}${
        adviceOf(isDenied ? 403 : status, headers)
      }`,
    );
  }
  if (isJsonObject(result)) return result;
  throw new McpError(
    status,
    `status ${status}: ${message["error_description"] ?? error ?? "no result"}${
      adviceOf(status, headers)
    }`,
  );
}

/** Returns when to retry, and how administrators of the gateway learn why it has rejected a request. */
function adviceOf(status: number, headers: Headers): string {
  const after = headers.get("retry-after");
  // Of any server.
  const id = /^[\w.-]{1,128}$/.exec(headers.get("x-request-id") ?? "")?.[0];
  const retry = after === null ? "" : `; retry after ${after} s`;
  return status < 400 || id === undefined
    ? retry
    : `${retry}; if this is your gateway, "gwctl explain ${id}" shows why`;
}

/** Finds the JSON-RPC response in an event stream, among notifications and requests of the server. */
function findResponse(stream: string): JsonObject | undefined {
  const events = stream.split(/\r?\n\r?\n/).slice(0, -1);
  for (const event of events) {
    const data = event.split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).trimStart()).join("\n");
    const message = parseJson(data);
    if (isJsonObject(message) && ("result" in message || "error" in message)) {
      return message;
    }
  }
  return undefined;
}
