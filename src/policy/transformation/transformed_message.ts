import type { PseudoHeader } from "./transformation_schema.ts";
import { GatewayError } from "../../base/errors.ts";
import type { RequestMessage } from "../../http/message.ts";
import { type BodyText, UnreadableBody } from "../expressions/message_body.ts";
import type { CompiledChanges } from "./transformation_changes.ts";

/**
 * Checks that a body was not too long to buffer.
 * @throws {GatewayError} `body_too_large` for a request, `transformation_failed` for a response.
 */
export function assertBuffered(
  text: BodyText | undefined,
  side: "request" | "response",
): void {
  if (!(text instanceof UnreadableBody && text.isTooLong)) return;
  const message = `Cannot change the ${side}: ${text.message}`;
  throw side === "request"
    ? new GatewayError("body_too_large", "downstream", message)
    : new GatewayError("transformation_failed", "upstream", message);
}

/** Returns whether a request can get a body: it has one, or its method expects one, and the connection stays HTTP. */
export function takesBody(
  { body, upgrade, method }: RequestMessage,
  newMethod: string | undefined,
): boolean {
  if (upgrade !== undefined) return false;
  return body !== undefined || contentMethods.has(newMethod ?? method);
}

const contentMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Returns whether responses with this method and status never have content (RFC 9110 section 6.4.1). */
export function hasNoContent(method: string, status: number): boolean {
  return method === "HEAD" || status === 204 || status === 304;
}

/** Sets the parts of a request that pseudo headers stand for. */
export function setPseudoHeaders(
  request: RequestMessage,
  values: ReadonlyMap<PseudoHeader, string>,
): void {
  request.method = values.get(":method") ?? request.method;
  request.target = values.get(":path") ?? request.target;
  request.authority = values.get(":authority") ?? request.authority;
  request.scheme = values.get(":scheme") ?? request.scheme;
}

/** Removes headers that lead to responses that expressions cannot read: compressed ones, and parts of one. */
export function requireReadableResponse(
  { headers }: RequestMessage,
  { readsResponseBody, body }: CompiledChanges,
): void {
  if (readsResponseBody) headers.delete("accept-encoding");
  if (body === undefined) return;
  headers.delete("range");
  headers.delete("if-range");
}
