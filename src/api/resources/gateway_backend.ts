import { duration, positiveDuration } from "../schema/duration.ts";
import { policyApiVersion } from "./group.ts";
import { resource } from "./resource.ts";
import { port, upstreamHost } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Fields of a backend's `spec`; named backends of the short file form have them too. */
export const backendEntries = {
  static: s.field(
    "Where the backend is.",
    s.object({
      host: s.field("Host to connect to.", upstreamHost),
      port: s.field("Port to connect to.", port),
    }),
  ),
  protocol: s.field(
    "Protocol to speak; left out, TLS negotiates it and plain text is HTTP/1.1.",
    s.optional(s.oneOf(["HTTP1", "HTTP2"])),
  ),
  limits: s.field(
    "How much is asked of the backend at a time.",
    s.optional(s.object({
      maxConnections: s.field(
        "Open connections.",
        s.optional(s.integer(1, 65535)),
        1024,
      ),
      maxPendingRequests: s.field(
        "Requests that wait for a connection; further ones are a 503.",
        s.optional(s.integer(0, 1_000_000)),
        1024,
      ),
    })),
  ),
  timeouts: s.field(
    "How long the backend is waited for.",
    s.optional(s.object({
      connect: s.field(
        "For a connection, TLS included, else 503.",
        s.optional(positiveDuration),
        "10s",
      ),
      idle: s.field(
        "Between two pieces of a body; no limit when left out or `0s`.",
        s.optional(duration),
      ),
    })),
  ),
};

/** A place that requests can be sent to. */
export const gatewayBackendSchema = resource(
  policyApiVersion,
  "GatewayBackend",
  s.object(backendEntries),
);

/** A place that requests can be sent to. */
export type GatewayBackend = s.Infer<typeof gatewayBackendSchema>;
