import base from "../../admin/ui/page/style/base.css" with { type: "text" };
import kit from "../../admin/ui/page/style/kit.css" with { type: "text" };
import tokens from "../../admin/ui/page/style/tokens.css" with { type: "text" };
import discovery from "./oauth_page/discovery.js" with { type: "text" };
import exchange from "./oauth_page/exchange.js" with { type: "text" };
import login from "./oauth_page/login.js" with { type: "text" };
import style from "./oauth_page/page.css" with { type: "text" };
import html from "./oauth_page/page.html" with { type: "text" };
import page from "./oauth_page/page.js" with { type: "text" };
import steps from "./oauth_page/steps.js" with { type: "text" };
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

const SCRIPT = "text/javascript; charset=utf-8";

/**
 * Serves a page that is an MCP client: it logs its user in to one of `endpoints` and shows every request. Like any web client, it
 * has an origin of its own.
 */
export function startOAuthPage(
  endpoints: readonly ProtectedEndpoint[],
): LoopbackServer {
  const document = { type: "text/html; charset=utf-8", text: html };
  const files = new Map(Object.entries({
    "/": document,
    "/callback": document,
    "/page.css": {
      type: "text/css; charset=utf-8",
      text: [tokens, base, kit, style].join("\n"),
    },
    "/page.js": { type: SCRIPT, text: page },
    "/steps.js": { type: SCRIPT, text: steps },
    "/discovery.js": { type: SCRIPT, text: discovery },
    "/login.js": { type: SCRIPT, text: login },
    "/exchange.js": { type: SCRIPT, text: exchange },
    "/endpoints.json": {
      type: "application/json",
      text: JSON.stringify(endpoints),
    },
  }));
  const headers = securityHeaders(endpoints);
  return serveLoopback(0, ({ url, method }) => {
    const file = files.get(new URL(url).pathname);
    if (file === undefined) return new Response(null, { status: 404, headers });
    if (method !== "GET" && method !== "HEAD") {
      return new Response(null, { status: 405, headers });
    }
    return new Response(file.text, {
      headers: { ...headers, "content-type": file.type },
    });
  });
}

/** Returns headers that let the page load only its own files, and call only the gateway and the identity providers. */
function securityHeaders(
  endpoints: readonly ProtectedEndpoint[],
): Readonly<Record<string, string>> {
  const callable = new Set(
    endpoints.flatMap(({ url, idpOrigin }) => [new URL(url).origin, idpOrigin]),
  );
  return {
    "cache-control": "no-store",
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      `connect-src 'self' ${[...callable].join(" ")}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}
