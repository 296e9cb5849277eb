/** The variables of expressions, without those that have no value yet. */
export interface RequestState {
  readonly request: {
    readonly method: string;
    readonly uri: string;
    readonly path: string;
    readonly pathAndQuery: string;
    readonly host: string;
    readonly scheme: string;
    /** Such as `HTTP/1.1`. */
    readonly version: string;
    readonly headers: TraceHeaders;
    /** RFC 3339. */
    readonly startTime: string;
  };
  readonly source: {
    /** Of the connection: the client's, or that of the last proxy before the gateway. */
    readonly address: string;
    readonly port: number;
    /** The same. */
    readonly rawAddress: string;
    readonly rawPort: number;
  };
  readonly env: {
    readonly podName?: string;
    readonly namespace?: string;
    readonly gateway?: string;
  };
  readonly jwt?: JsonObject;
  readonly apiKey?: JsonObject;
  readonly basicAuth?: { readonly username: string };
  /** Once an expression asked for it, without the arguments of tools. */
  readonly mcp?: {
    readonly sessionId?: string;
    readonly methodName?: string;
    readonly tool?: { readonly name: string };
    readonly prompt?: { readonly name: string };
    readonly resource?: { readonly name: string };
  };
  /** Once an expression asked for it. */
  readonly llm?: {
    /** Such as `chat`. */
    readonly provider?: string;
    readonly requestModel?: string;
    readonly streaming: boolean;
  };
  readonly backend?: {
    readonly name: string;
    /** Such as `static`. */
    readonly type: string;
    /** Such as `http`. */
    readonly protocol: string;
  };
  readonly response?: {
    readonly code: number;
    readonly headers: TraceHeaders;
  };
  /** Seconds, such as `0.0034s`. */
  readonly proxy?: {
    readonly requestProcessingDuration?: string;
    readonly upstreamDuration?: string;
  };
}

/** Names in lower case; a list for a field that is repeated. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A value that JSON can say. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | JsonObject;

/** An object that JSON can say. */
export type JsonObject = { readonly [name: string]: JsonValue };
