import type { JsonObject } from "../../../src/base/json.ts";

const PREFIX = "io.modelcontextprotocol";

/** Options of a request of MCP 2026-07-28. */
export interface ModernCall {
  readonly capabilities?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without connections that are kept, each request may reach another worker. */
  readonly client?: Deno.HttpClient;
  readonly signal?: AbortSignal;
}

/** Sends a request of MCP 2026-07-28, and returns the response as it is; of a stream, the last message. */
export async function callModern(
  url: string,
  method: string,
  params: JsonObject = {},
  options: ModernCall = {},
) {
  const response = await fetchModern(url, method, params, options);
  const text = await response.text();
  const last = text.startsWith("{")
    ? text
    : text.split("\n").findLast((line) => line.startsWith("data: "))?.slice(6);
  return { status: response.status, text, ...JSON.parse(last ?? "{}") };
}

/** Sends a request of MCP 2026-07-28. */
export function fetchModern(
  url: string,
  method: string,
  params: JsonObject = {},
  { capabilities = {}, headers = {}, client, signal }: ModernCall = {},
): Promise<Response> {
  const name = params["name"] ?? params["uri"] ?? params["taskId"];
  return fetch(url, {
    method: "POST",
    ...(client && { client }),
    ...(signal && { signal }),
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          [`${PREFIX}/protocolVersion`]: "2026-07-28",
          [`${PREFIX}/clientInfo`]: { name: "test", version: "1.0.0" },
          [`${PREFIX}/clientCapabilities`]: capabilities,
        },
      },
    }),
  });
}

/** Returns the names of all tools. */
export async function listTools(url: string): Promise<readonly string[]> {
  const { result } = await callModern(url, "tools/list");
  return result.tools.map(({ name }: { name: string }) => name);
}
