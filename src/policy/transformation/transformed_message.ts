import type { PseudoHeader } from "./transformation_schema.ts";
import { GatewayError } from "../../base/errors.ts";
import type { RequestMessage } from "../../http/message.ts";
import { type BodyText, UnreadableBody } from "../expressions/message_body.ts";
import type { CompiledChanges } from "./transformation_changes.ts";

/**
 * Nothing is made of a body that nobody has looked at.
 * @throws {GatewayError} When it is too long: a client's is its own mistake.
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

/** Reports whether a body can be set: not where there was none and none is expected, nor where the connection is about to leave HTTP. */
export function takesBody(
  { body, upgrade, method }: RequestMessage,
  newMethod: string | undefined,
): boolean {
  if (upgrade !== undefined) return false;
  return body !== undefined || contentMethods.has(newMethod ?? method);
}

const contentMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Reports whether a response to that method, with that status, has no content whatever its headers say (RFC 9110 section 6.4.1). */
export function hasNoContent(method: string, status: number): boolean {
  return method === "HEAD" || status === 204 || status === 304;
}

/** Changes what of a request stands in no header. */
export function setPseudoHeaders(
  request: RequestMessage,
  values: ReadonlyMap<PseudoHeader, string>,
): void {
  request.method = values.get(":method") ?? request.method;
  request.target = values.get(":path") ?? request.target;
  request.authority = values.get(":authority") ?? request.authority;
  request.scheme = values.get(":scheme") ?? request.scheme;
}

/** Takes back what the client offered and expressions could not work with: compressed answers, and parts of one. */
export function askForReadable(
  { headers }: RequestMessage,
  { readsResponseBody, body }: CompiledChanges,
): void {
  if (readsResponseBody) headers.delete("accept-encoding");
  if (body === undefined) return;
  headers.delete("range");
  headers.delete("if-range");
}
