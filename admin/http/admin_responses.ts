import { describeError } from "../../src/base/errors.ts";

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Creates a plain-text response; adds a line break. */
export function text(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return respond(status, "text/plain; charset=utf-8", body + "\n", headers);
}

/** Creates the response to a request for which the store cannot be used. */
export function storeUnavailable(error: unknown): Response {
  return text(503, `cannot use the store: ${describeError(error)}`);
}

/** Creates an indented JSON response. */
export function json(value: unknown): Response {
  return respond(
    200,
    "application/json",
    JSON.stringify(value, null, 2) + "\n",
  );
}

/** Creates a response with the security headers of the admin interface. */
export function respond(
  status: number,
  contentType: string,
  body: string | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { ...securityHeaders, "content-type": contentType, ...headers },
  });
}
