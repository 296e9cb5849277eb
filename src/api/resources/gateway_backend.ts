import * as s from "../schema/schema.ts";
import {
  duration,
  isDuration,
  parseDuration,
  positiveDuration,
} from "../schema/duration.ts";
import {
  celExpression,
  headerName,
  port,
  upstreamHost,
  urlPath,
} from "../schema/scalars.ts";
import { backendCredentials } from "./credentials/credentials_schema.ts";
import { policyApiVersion } from "../schema/group.ts";
import { llmBackendSchema } from "./llm_backend.ts";
import { mcpBackendSchema } from "./mcp_backend.ts";
import { resource } from "./resource.ts";

/** Spreads requests over the endpoints of a backend. */
const loadBalancingSchema = s.refine(
  s.object({
    policy: s.field(
      "`LeastRequest` takes two endpoints at random and chooses the one with fewer requests.",
      s.optional(
        s.oneOf(["LeastRequest", "RoundRobin", "Random", "ConsistentHash"]),
      ),
      "LeastRequest",
    ),
    hashHeader: s.field(
      "Header whose value decides, for policy `ConsistentHash`.",
      s.optional(headerName),
    ),
    hash: s.field(
      "CEL expression whose value decides, in place of `hashHeader`, such as `jwt.sub`. A request without a value goes to any endpoint.",
      s.optional(celExpression),
    ),
    mcpSessions: s.field(
      "`Sticky`: requests of an MCP session go to the endpoint that began it, with every policy. `Shared`: all endpoints know all sessions.",
      s.optional(s.oneOf(["Sticky", "Shared"])),
      "Sticky",
    ),
    slowStart: s.field(
      "Time in which a new endpoint gets a growing share of the requests. Default, and `0s`: none.",
      s.optional(duration),
    ),
  }),
  s.rule(
    ({ policy, hashHeader, hash }) =>
      Number(policy === "ConsistentHash") ===
        [hashHeader, hash].filter((each) => each !== undefined).length,
    '"ConsistentHash" requires either "hashHeader" or "hash", and they require it',
  ),
);

/** Settings for endpoints that fail: they get no requests for a while. */
const ejectionSchema = s.object({
  connectFailures: s.field(
    "Connections in a row that cannot be opened; 0 for no limit.",
    s.optional(s.integer(0, 1000)),
    2,
  ),
  errors: s.field(
    "Responses with a status of 5xx, time-outs and closed connections in a row; 0 for no limit.",
    s.optional(s.integer(0, 1000)),
    5,
  ),
  latency: s.field(
    "Limit of the moving average of the time until the response begins. Default: none.",
    s.optional(positiveDuration),
  ),
  time: s.field(
    "Duration of an ejection; each further one in a row lasts twice as long.",
    s.optional(positiveDuration),
    "10s",
  ),
  maxTime: s.field(
    "Maximum duration of an ejection.",
    s.optional(positiveDuration),
    "5m",
  ),
  maxPercent: s.field(
    "Part of the endpoints that errors and latency may eject, in percent; connect failures eject all but the last.",
    s.optional(s.integer(0, 100)),
    50,
  ),
});

/** Requests of the gateway's own that find out which endpoints work. */
const healthCheckSchema = s.object({
  path: s.field("Path of the GET request, such as `/healthz`.", urlPath),
  host: s.field(
    "Host of the request. Default: that of the backend.",
    s.optional(upstreamHost),
  ),
  interval: s.field(
    "Time between two checks of an endpoint; up to a tenth more or less.",
    s.optional(positiveDuration),
    "10s",
  ),
  timeout: s.field(
    "Time limit of a check, from the connection to the end of the response.",
    s.optional(positiveDuration),
    "2s",
  ),
  unhealthyThreshold: s.field(
    "Failed checks in a row after which an endpoint gets no requests.",
    s.optional(s.integer(1, 100)),
    3,
  ),
  healthyThreshold: s.field(
    "Passed checks in a row after which it gets requests again.",
    s.optional(s.integer(1, 100)),
    2,
  ),
  expectedStatuses: s.field(
    "Statuses of a passed check. Default: 200 to 299.",
    s.optional(s.list(s.integer(200, 599), { min: 1, max: 32 })),
  ),
});

/** Look-ups of the addresses of names. */
const lookupSchema = s.object({
  refresh: s.field(
    "Age from which the addresses of a name are looked up again, at least `1s`.",
    s.optional(s.refine(
      duration,
      s.rule(
        (text: string) => !isDuration(text) || parseDuration(text) >= 1000,
        "expected at least 1s",
      ),
    )),
    "30s",
  ),
  timeout: s.field(
    "Time limit of a look-up; then the addresses that are known stay in use.",
    s.optional(positiveDuration),
    "5s",
  ),
});

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
  mcp: s.field(
    "MCP servers behind one endpoint, instead of `static`.",
    s.optional(mcpBackendSchema),
  ),
  endpoints: s.field(
    "Addresses of a backend with several instances, instead of `static`.",
    s.optional(s.list(address, { min: 1, max: 256 })),
  ),
  credentials: s.field(
    "Key of the backend, or how the gateway gets tokens, sent as `Authorization: Bearer` in place of the client's, for `static` and `endpoints`. Default: none.",
    s.optional(backendCredentials),
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
  "mcp",
);

/** LLM providers and MCP servers have credentials of their own. */
export const placeOfCredentials: s.Rule<
  Readonly<Partial<Record<"credentials" | "llm" | "mcp", unknown>>>
> = s.rule(
  ({ credentials, llm, mcp }) =>
    credentials === undefined || llm === undefined && mcp === undefined,
  ({ llm }) =>
    llm === undefined
      ? 'write "credentials" into the entries of "mcp.servers"'
      : 'write "credentials" into "llm"',
  ["credentials"],
);

/** A destination of requests. */
export const gatewayBackendSchema = resource(
  policyApiVersion,
  "GatewayBackend",
  s.refine(s.object(backendEntries), backendAddress, placeOfCredentials),
);

/** A destination of requests. */
export type GatewayBackend = s.Infer<typeof gatewayBackendSchema>;
