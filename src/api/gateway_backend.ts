import { duration, positiveDuration } from "./duration.ts";
import { policyApiVersion } from "./group.ts";
import { resource } from "./resource.ts";
import { port, upstreamHost } from "./scalars.ts";
import * as s from "./schema.ts";

/** Fields of a backend's `spec`; named backends of the short file form have them too. */
export const backendEntries = {
  static: s.object({ host: upstreamHost, port }),
  protocol: s.optional(s.pipe(
    s.oneOf(["HTTP1", "HTTP2"]),
    s.description(
      "Protocol to speak; left out, TLS negotiates it and plain text is HTTP/1.1.",
    ),
  )),
  limits: s.optional(s.object({
    maxConnections: s.optional(s.integer(1, 65535)),
    maxPendingRequests: s.optional(s.integer(0, 1_000_000)),
  })),
  timeouts: s.optional(s.object({
    connect: s.optional(positiveDuration),
    idle: s.optional(duration),
  })),
};

/** A place that requests can be sent to. */
export const gatewayBackendSchema = resource(
  policyApiVersion,
  "GatewayBackend",
  s.object(backendEntries),
);

/** A place that requests can be sent to. */
export type GatewayBackend = s.Infer<typeof gatewayBackendSchema>;
