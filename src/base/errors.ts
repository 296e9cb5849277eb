/** The side that caused a failure. */
export type ErrorSource = "downstream" | "upstream" | "gateway";

/** Reasons why handling a request can fail; `respond.ts` maps each to a status. */
export type GatewayErrorCode =
  | "bad_request"
  | "head_too_large"
  | "body_too_large"
  | "body_memory_full"
  | "unsupported_media_type"
  | "request_timeout"
  | "expectation_failed"
  | "method_not_supported"
  | "client_closed"
  | "misdirected_request"
  | "listener_not_found"
  | "route_not_found"
  | "invalid_backend"
  | "invalid_policy"
  | "transformation_failed"
  | "list_unreadable"
  | "usage_unknown"
  | "llm_path_unknown"
  | "llm_request_invalid"
  | "llm_key_rejected"
  | "llm_response_invalid"
  | "caller_rejected"
  | "connection_required"
  | "credentials_rejected"
  | "credentials_unavailable"
  | "egress_denied"
  | "upstream_connect_failed"
  | "upstream_tls_failed"
  | "upstream_overloaded"
  | "no_endpoints"
  | "mcp_session_lost"
  | "upstream_closed"
  | "upstream_protocol_error"
  | "upstream_timeout"
  | "route_timeout"
  | "version_not_supported"
  | "drain_timeout"
  | "tunnel_idle"
  | "internal";

/** A failure while handling a request. The client receives the code; the message goes to log and trace. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";

  constructor(
    readonly code: GatewayErrorCode,
    readonly source: ErrorSource,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Identifies a JSON-RPC request. */
export type JsonRpcId = string | number;

/** A failure that the client gets as a JSON-RPC error; its message there is public. */
export class JsonRpcError extends GatewayError {
  constructor(
    code: GatewayErrorCode,
    message: string,
    readonly rpc: {
      readonly id: JsonRpcId | undefined;
      readonly code: number;
      readonly message: string;
    },
  ) {
    super(code, "downstream", message);
  }
}

/** A failure that clients of an LLM API get in the form of that API; its message there is public. */
export class LlmApiError extends GatewayError {
  constructor(
    code: GatewayErrorCode,
    source: ErrorSource,
    message: string,
    /** API whose form the error has. */
    readonly form: "openai" | "anthropic" | "gemini" | "bedrock",
    /** Message for the client, where that for the log has more than it may know. */
    readonly publicMessage = message,
  ) {
    super(code, source, message);
  }
}

/** A failure that ends when the user logs in at the service behind a backend; the client gets the link. */
export class ConnectionRequiredError extends GatewayError {
  constructor(
    backend: string,
    /** For the client. */
    readonly connection: {
      /** Name of the backend for people. */
      readonly title: string;
      /** Page of the gateway; it gives no rights to whoever has it. */
      readonly url: string;
      /** There is a login, which does not suffice. */
      readonly needsMore: boolean;
    },
  ) {
    super(
      "connection_required",
      "gateway",
      `The user has to ${
        connection.needsMore ? "grant more rights to" : "connect an account to"
      } backend "${backend}"`,
    );
  }

  /** Message for the client, with the link. */
  get publicMessage(): string {
    return `${this.request} at ${this.connection.url}`;
  }

  /** The same without the link. */
  get request(): string {
    const { title, needsMore } = this.connection;
    return needsMore
      ? `Grant more rights to ${title}`
      : `Connect your account for ${title}`;
  }
}

/** Formats a thrown value with the messages of its causes: `dial failed: connection refused`. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = withoutErrorNumbers(error.message);
  return error.cause === undefined
    ? message
    : `${message}: ${describeError(error.cause)}`;
}

/** An error of the operating system as Deno words it: `Is a directory (os error 21): readfile '/tmp'`. */
const systemError =
  /([A-Z][^:()]*?) \(os error \d+\)(?:[:,] [a-z_]+ '[^']*'(?: -> '[^']*')?)?/g;

/** Words errors of the operating system like other errors: without their numbers and calls. */
function withoutErrorNumbers(message: string): string {
  return message.includes("(os error ")
    ? message.replace(systemError, (_, phrase: string) => phrase.toLowerCase())
    : message;
}
