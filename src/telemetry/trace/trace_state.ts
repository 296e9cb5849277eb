import * as s from "../../api/schema/schema.ts";

/** Fields by name in lower case; a list for a field that is repeated. */
const headers = s.map(s.string(), s.union([s.string(), s.array(s.string())]));

/** Fields of a message, as traces show them. */
export type TraceHeaders = s.Infer<typeof headers>;

/** The variables of expressions, without those that have no value yet. */
export const requestState = s.openObject({
  request: s.openObject({
    method: s.string(),
    uri: s.string(),
    path: s.string(),
    pathAndQuery: s.string(),
    host: s.string(),
    scheme: s.string(),
    /** Such as `HTTP/1.1`. */
    version: s.string(),
    headers,
    /** RFC 3339. */
    startTime: s.string(),
  }),
  /** The peer of the connection: the client, or the last proxy before the gateway. */
  source: s.openObject({
    address: s.string(),
    port: s.number(),
    /** Equal to `address`. */
    rawAddress: s.string(),
    /** Equal to `port`. */
    rawPort: s.number(),
  }),
  env: s.openObject({
    podName: s.optional(s.string()),
    namespace: s.optional(s.string()),
    gateway: s.optional(s.string()),
  }),
  jwt: s.optional(s.map(s.string(), s.json())),
  apiKey: s.optional(s.map(s.string(), s.json())),
  basicAuth: s.optional(s.openObject({ username: s.string() })),
  extAuthz: s.optional(s.map(s.string(), s.json())),
  /** Present once an expression has read it, without the arguments of tools. */
  mcp: s.optional(s.openObject({
    sessionId: s.optional(s.string()),
    methodName: s.optional(s.string()),
    server: s.optional(s.string()),
    tool: s.optional(s.openObject({ name: s.string() })),
    prompt: s.optional(s.openObject({ name: s.string() })),
    resource: s.optional(s.openObject({ name: s.string() })),
  })),
  /** Present once an expression has read it. */
  llm: s.optional(s.openObject({
    /** Such as `chat`. */
    provider: s.optional(s.string()),
    requestModel: s.optional(s.string()),
    streaming: s.boolean(),
  })),
  backend: s.optional(s.openObject({
    name: s.string(),
    /** Such as `static`. */
    type: s.string(),
    /** Such as `http`. */
    protocol: s.string(),
  })),
  response: s.optional(s.openObject({ code: s.number(), headers })),
  /** Seconds, such as `0.0034s`. */
  proxy: s.optional(s.openObject({
    requestProcessingDuration: s.optional(s.string()),
    upstreamDuration: s.optional(s.string()),
  })),
});

/** The state of a request at one moment of its trace. */
export type RequestState = s.Infer<typeof requestState>;

/** Builds the parts of a state that every request has, from values that are already redacted. */
export function describeArrival(
  { scheme, authority, path, query, version, acceptedAt, ...arrival }: {
    readonly method: string;
    readonly scheme: string;
    readonly authority: string;
    readonly path: string;
    /** Empty, or with its `?`. */
    readonly query: string;
    readonly version: string;
    readonly headers: TraceHeaders;
    /** Milliseconds since the epoch. */
    readonly acceptedAt: number;
    readonly source: { readonly address: string; readonly port: number };
  },
): Pick<RequestState, "request" | "source"> {
  const { method, headers, source: { address, port } } = arrival;
  return {
    request: {
      method,
      uri: `${scheme}://${authority}${path}${query}`,
      path,
      pathAndQuery: path + query,
      host: authority.replace(/:\d*$/, "").toLowerCase(),
      scheme,
      version: `HTTP/${version}`,
      headers,
      startTime: new Date(acceptedAt).toISOString(),
    },
    source: { address, port, rawAddress: address, rawPort: port },
  };
}
