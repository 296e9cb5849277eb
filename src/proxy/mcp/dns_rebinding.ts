import type { RequestMessage } from "../../http/message.ts";
import { hostnameOf } from "../../route/hostname.ts";

const loopbackAddress = /^(?:127\.|::1$|::ffff:127\.)/;
const loopbackNames: ReadonlySet<string> = new Set([
  "localhost",
  "127.0.0.1",
  "[::1]",
  "::1",
]);

/**
 * Reports whether a web page has reached the gateway on the user's own machine by a name that it has made point there, such as
 * `evil.example.com` (MCP 2025-11-25, "Transports", security warning). Pages send `Origin`.
 * @param authority `Host` as the client sent it.
 */
export function isRebound(
  authority: string,
  { source, headers }: RequestMessage,
): boolean {
  return headers.has("origin") && loopbackAddress.test(source.address) &&
    !loopbackNames.has(hostnameOf(authority));
}
