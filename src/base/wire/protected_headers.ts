/**
 * Lower-case names of headers that control a connection or delimit messages. Only the gateway writes them: neither the
 * configuration nor an external service may desynchronize peers.
 */
export const protectedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
