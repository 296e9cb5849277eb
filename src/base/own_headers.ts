/**
 * Headers that belong to a connection or delimit messages, in lower case: written by the gateway alone, so that neither
 * configuration nor a service that it asks can desynchronise peers.
 */
export const ownHeaders: ReadonlySet<string> = new Set([
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
