import { textBody } from "../../../http/body.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import { pageHeaders, renderErrorPage } from "./login_pages.ts";
import type { OAuthError, OAuthErrorCode } from "./oauth_error.ts";

/** Response of the authorization server, and the problem that log and trace show if it rejected the request. */
export interface OAuthReply {
  readonly response: ResponseMessage;
  readonly problem?: string;
}

/** CORS headers that let every page read a response, which has no secrets or does not depend on cookies; see `ReadableBy`. */
export const publicHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Retry-After",
} as const;

/** Creates a JSON response for the client. */
export function jsonReply(status: number, document: object): OAuthReply {
  return {
    response: respond(status, {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...publicHeaders,
    }, JSON.stringify(document)),
  };
}

/** Creates an error response for the client (RFC 6749 section 5.2). */
export function jsonErrorReply(error: OAuthError): OAuthReply {
  const { code, description, message, retryAfter } = error;
  const { response } = jsonReply(statusOf(code), {
    error: code,
    error_description: description,
  });
  if (retryAfter !== undefined) {
    response.headers.set("retry-after", String(retryAfter));
  }
  return { response, problem: message };
}

/** Creates a page for the user. */
export function pageReply(
  html: string,
  cookies: readonly string[] = [],
): OAuthReply {
  return { response: withCookies(respond(200, pageHeaders, html), cookies) };
}

/**
 * Creates an error page, for requests whose redirect URI cannot be trusted.
 * @param location Redirect to the client, which the user may follow.
 */
export function pageErrorReply(
  error: OAuthError,
  location?: string,
): OAuthReply {
  const html = renderErrorPage(error.description, location);
  const response = respond(statusOf(error.code), pageHeaders, html);
  if (error.retryAfter !== undefined) {
    response.headers.set("retry-after", String(error.retryAfter));
  }
  return { response, problem: error.message };
}

/** Redirects the browser. */
export function redirectReply(
  location: string,
  cookies: readonly string[],
  problem?: string,
): OAuthReply {
  const response = respond(303, {
    location,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  });
  return {
    response: withCookies(response, cookies),
    ...(problem !== undefined && { problem }),
  };
}

/** Adds response parameters to a redirect URI, except those without a value. */
export function withResponseParameters(
  redirectUri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value);
  }
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${query}`;
}

function statusOf(code: OAuthErrorCode): number {
  switch (code) {
    case "invalid_client":
    case "invalid_token":
      return 401;
    case "access_denied":
      return 403;
    case "server_error":
      return 502;
    case "temporarily_unavailable":
      return 503;
    default:
      return 400;
  }
}

function respond(
  status: number,
  headers: Readonly<Record<string, string>>,
  text?: string,
): ResponseMessage {
  return {
    status,
    headers: HeaderList.from(Object.entries(headers)),
    body: text === undefined ? undefined : textBody(text),
  };
}

function withCookies(
  response: ResponseMessage,
  cookies: readonly string[],
): ResponseMessage {
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}
