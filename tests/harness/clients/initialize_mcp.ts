/** The response of an MCP server to `initialize`. */
export interface McpResponse {
  readonly status: number;
  /** Empty unless the response is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** `WWW-Authenticate`; empty without one. */
  readonly challenge: string;
  /** `Retry-After`; empty without one. */
  readonly retryAfter: string;
}

/** Initializes a session at an MCP server with an access token. */
export async function initializeMcp(
  { url }: { readonly url: string },
  token: unknown,
): Promise<McpResponse> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    }),
  });
  const { status, headers } = response;
  const text = await response.text();
  return {
    status,
    body: text.startsWith("{") ? JSON.parse(text) : {},
    challenge: headers.get("www-authenticate") ?? "",
    retryAfter: headers.get("retry-after") ?? "",
  };
}
