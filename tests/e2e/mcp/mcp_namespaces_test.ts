/** Endpoints of several namespaces. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

/** Starts a server that accepts all sessions, and records their ids. */
function startServer(sessions: (string | null)[]) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      sessions.push(request.headers.get("mcp-session-id"));
      const { id, method } = await request.json();
      if (id === undefined) return new Response(null, { status: 202 });
      const error = { code: -32601, message: "Method not found" };
      const result = method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities: { tools: {} } }
        : { tools: [], content: [] };
      return Response.json({
        jsonrpc: "2.0",
        id,
        ...(method === "server/discover" ? { error } : { result }),
      }, { headers: { "mcp-session-id": "of-the-server" } });
    },
  );
}

function resources(namespace: string, port: number) {
  return [{
    apiVersion: "policy.gateway.internal/v1alpha1",
    kind: "GatewayBackend",
    metadata: { name: "tools", namespace },
    spec: {
      mcp: { servers: [{ name: "a", url: `http://127.0.0.1:${port}/mcp` }] },
    },
  }, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "tools", namespace },
    spec: {
      parentRefs: [{ name: "default", namespace: "default" }],
      rules: [{
        matches: [{ path: { type: "PathPrefix", value: `/${namespace}` } }],
        backendRefs: [{
          group: "policy.gateway.internal",
          kind: "GatewayBackend",
          name: "tools",
        }],
      }],
    },
  }];
}

async function post(url: string, method: string, session?: string) {
  const params = method === "initialize"
    ? { protocolVersion: "2025-11-25", capabilities: {} }
    : {};
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session !== undefined && { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  await response.text();
  return response;
}

Deno.test("a session is unknown to the endpoint of the same name in another namespace", async () => {
  const sessions: (string | null)[] = [];
  const one = startServer([]);
  const two = startServer(sessions);
  await using gateway = await startTestGateway(
    {},
    { allowedRoutes: { namespaces: { from: "All" } } },
    [
      ...resources("one", one.addr.port),
      ...resources("two", two.addr.port),
    ],
  );
  const { headers } = await post(`${gateway.origin}/one`, "initialize");
  const session = headers.get("mcp-session-id") ?? "";
  const own = await post(`${gateway.origin}/one`, "tools/list", session);
  const other = await post(`${gateway.origin}/two`, "tools/list", session);
  await one.shutdown();
  await two.shutdown();

  assert.equal(own.status, 200);
  assert.equal(other.status, 404);
  assert.deepEqual(sessions, []);
});
