import { duration, positiveDuration } from "../schema/duration.ts";
import {
  ejectionSchema,
  healthCheckSchema,
  loadBalancingSchema,
  lookupSchema,
} from "./balancing.ts";
import { policyApiVersion } from "./group.ts";
import { llmBackendSchema } from "./llm_backend.ts";
import { resource } from "./resource.ts";
import { port, upstreamHost } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const address = s.object({
  host: s.field(
    "Host to connect to. Requests are spread over all addresses of a name.",
    upstreamHost,
  ),
  port: s.field("Port to connect to.", port),
});

/** Fields of a backend's `spec`, shared with named backends of the short file form. */
export const backendEntries = {
  static: s.field("Address of the backend.", s.optional(address)),
  llm: s.field(
    "An LLM provider, instead of `static`.",
    s.optional(llmBackendSchema),
  ),
  endpoints: s.field(
    "Addresses of a backend with several instances, instead of `static`.",
    s.optional(s.list(address, { min: 1, max: 256 })),
  ),
  loadBalancing: s.field(
    "How requests are spread over the endpoints of the backend.",
    s.optional(loadBalancingSchema),
  ),
  ejection: s.field(
    "When an endpoint that fails gets no requests for a while. The last healthy one always gets requests.",
    s.optional(ejectionSchema),
  ),
  dns: s.field(
    "Look-ups of the names among the endpoints.",
    s.optional(lookupSchema),
  ),
  healthCheck: s.field(
    "Checks each endpoint with requests of the gateway's own. If all endpoints fail, all get requests.",
    s.optional(healthCheckSchema),
  ),
  protocol: s.field(
    "Protocol of the backend. Default: negotiated with TLS, HTTP/1.1 without.",
    s.optional(s.oneOf(["HTTP1", "HTTP2"])),
  ),
  limits: s.field(
    "Limits on concurrent use of the backend.",
    s.optional(s.object({
      maxConnections: s.field(
        "Maximum number of open connections to each endpoint.",
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
      firstByte: s.field(
        "Time limit from the end of the request to the beginning of the response; then 504. `0s` is unlimited. Default: 10m, and unlimited for event streams and gRPC.",
        s.optional(duration),
      ),
      idle: s.field(
        "Time limit between two chunks of a body. `0s` is unlimited. Default: 5m, and unlimited for event streams and gRPC.",
        s.optional(duration),
      ),
    })),
  ),
};

/** A backend has one way to find its endpoints. */
export const backendAddress: s.Rule<object> = s.exactlyOne(
  "static",
  "endpoints",
  "llm",
);

/** A destination of requests. */
export const gatewayBackendSchema = resource(
  policyApiVersion,
  "GatewayBackend",
  s.refine(s.object(backendEntries), backendAddress),
);

/** A destination of requests. */
export type GatewayBackend = s.Infer<typeof gatewayBackendSchema>;
