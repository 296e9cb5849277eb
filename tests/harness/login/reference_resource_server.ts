import { createRemoteJWKSet, jwtVerify } from "jose";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import {
  type LoopbackServer,
  serveLoopback,
} from "../../../cli/dev/loopback_server.ts";
import { readMetadata } from "../clients/oauth_exchange.ts";

/** Minimal protection of an MCP server by the MCP specification, to compare the behavior of clients without a gateway. */
export interface ReferenceResourceServer extends LoopbackServer {
  /** All requests in the order of arrival, such as `POST /mcp 401`. */
  readonly requests: readonly string[];
}

/** Protects the MCP server at `mcpUrl`. Its metadata names itself (`Gateway`) or the provider (`Upstream`) as authorization server. */
export function startReferenceResourceServer(
  idp: Idp,
  mcpUrl: string,
  issuerMode: "Gateway" | "Upstream",
): ReferenceResourceServer {
  const keys = createRemoteJWKSet(new URL(idp.origin + idp.jwksPath));
  const requests: string[] = [];
  const server = serveLoopback(0, async (request) => {
    const response = await answer(request);
    const { pathname } = new URL(request.url);
    requests.push(`${request.method} ${pathname} ${response.status}`);
    return response;
  });
  const resource = `${server.origin}/mcp`;

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/.well-known/oauth-protected-resource/mcp") {
      const issuer = issuerMode === "Gateway" ? resource : idp.issuer;
      return Response.json({ resource, authorization_servers: [issuer] });
    }
    if (pathname === "/.well-known/oauth-authorization-server/mcp") {
      return Response.json(await describeSelf());
    }
    if (pathname !== "/mcp") return new Response(null, { status: 404 });
    const [, token = ""] =
      /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    const options = { issuer: idp.issuer, audience: resource };
    const verified = await jwtVerify(token, keys, options).catch(() => {});
    return verified === undefined ? challenge() : await pass(request);
  }

  async function describeSelf() {
    const metadata = await readMetadata(idp);
    const endpoint = new URL(String(metadata.authorization_endpoint));
    endpoint.searchParams.set("audience", resource);
    const {
      authorization_response_iss_parameter_supported: _,
      ...rest
    } = metadata;
    return { ...rest, issuer: resource, authorization_endpoint: endpoint.href };
  }

  function challenge(): Response {
    const url = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
    return new Response(null, {
      status: 401,
      headers: { "www-authenticate": `Bearer resource_metadata="${url}"` },
    });
  }

  function pass(request: Request): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.delete("authorization");
    const { method, body, signal } = request;
    return fetch(mcpUrl, { method, headers, body, signal });
  }

  return { ...server, requests };
}
