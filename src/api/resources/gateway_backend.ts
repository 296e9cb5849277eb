import { duration, positiveDuration } from "../schema/duration.ts";
import { policyApiVersion } from "./group.ts";
import { llmBackendSchema } from "./llm_backend.ts";
import { resource } from "./resource.ts";
import { port, upstreamHost } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Fields of a backend's `spec`, shared with named backends of the short file form. */
export const backendEntries = {
  static: s.field(
    "Address of the backend.",
    s.optional(s.object({
      host: s.field("Host to connect to.", upstreamHost),
      port: s.field("Port to connect to.", port),
    })),
  ),
  llm: s.field(
    "An LLM provider, instead of `static`.",
    s.optional(llmBackendSchema),
  ),
  protocol: s.field(
    "Protocol of the backend. Default: negotiated with TLS, HTTP/1.1 without.",
    s.optional(s.oneOf(["HTTP1", "HTTP2"])),
  ),
  limits: s.field(
    "Limits on concurrent use of the backend.",
    s.optional(s.object({
      maxConnections: s.field(
        "Maximum number of open connections.",
        s.optional(s.integer(1, 65535)),
        1024,
      ),
      maxPendingRequests: s.field(
        "Maximum number of requests that wait for a connection; further requests get 503.",
        s.optional(s.integer(0, 1_000_000)),
        1024,
      ),
    })),
  ),
  timeouts: s.field(
    "Time-outs of the backend.",
    s.optional(s.object({
      connect: s.field(
        "Time limit to connect, including the TLS handshake; then 504.",
        s.optional(positiveDuration),
        "10s",
      ),
      idle: s.field(
        "Time limit between two chunks of a body. Default, and `0s`: unlimited.",
        s.optional(duration),
      ),
    })),
  ),
};

/** A backend has one address. */
export const backendAddress: s.Rule<object> = s.exactlyOne("static", "llm");

/** A destination of requests. */
export const gatewayBackendSchema = resource(
  policyApiVersion,
  "GatewayBackend",
  s.refine(s.object(backendEntries), backendAddress),
);

/** A destination of requests. */
export type GatewayBackend = s.Infer<typeof gatewayBackendSchema>;
