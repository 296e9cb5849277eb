import { pageFiles, pageHeaders } from "../../admin/ui/page_files.ts";
import { type LoopbackServer, serveLoopback } from "./loopback_server.ts";

/** An MCP server that a user can log in to. */
export interface ProtectedEndpoint {
  readonly provider: "IdpA" | "IdpB";
  /** URL of the MCP server at the gateway. */
  readonly url: string;
  /** Authorization rule for tokens, in CEL. */
  readonly rule: string;
  /** ID of a registered client; without one the page registers itself. */
  readonly clientId?: string;
  /** Origin of the identity provider. */
  readonly idpOrigin: string;
}

/**
 * Serves a page of the web UI that is an MCP client: it logs its user in to one of `endpoints` and shows every request. Like any
 * web client, it has an origin of its own; it may call only the gateway and the identity providers.
 */
export function startOAuthPage(
  endpoints: readonly ProtectedEndpoint[],
): LoopbackServer {
  const callable = new Set(
    endpoints.flatMap(({ url, idpOrigin }) => [new URL(url).origin, idpOrigin]),
  );
  const common = {
    ...pageHeaders([...callable]),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return serveLoopback(0, async ({ url, method }) => {
    if (method !== "GET" && method !== "HEAD") {
      return new Response(null, { status: 405, headers: common });
    }
    const name = new URL(url).pathname.slice(1);
    if (name === "endpoints.json") {
      const byProvider = endpoints.map((each) => [each.provider, each]);
      return Response.json(Object.fromEntries(byProvider), { headers: common });
    }
    const isDocument = ["", "callback"].includes(name);
    const file = (await pageFiles()).get(isDocument ? "" : name);
    if (file === undefined) {
      return new Response(null, { status: 404, headers: common });
    }
    const { contentType, text } = file;
    return new Response(
      isDocument ? text.replace("<html", '<html data-app="login"') : text,
      { headers: { ...common, "content-type": contentType } },
    );
  });
}
