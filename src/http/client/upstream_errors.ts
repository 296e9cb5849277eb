import { GatewayError } from "../../base/errors.ts";
import { HttpSyntaxError } from "../http1/http_syntax_error.ts";

/**
 * A connection ended before a byte of the answer: either the upstream failed, or it closed a pooled connection in the very
 * moment when the request was sent.
 */
export class UnansweredError extends GatewayError {
  /** @param refused Whether the upstream said that it did not act on the request. */
  constructor(
    readonly refused: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super("upstream_closed", "upstream", message, options);
  }
}

/** What went wrong on a connection, as the error of the request that used it. `endpoint` is such as `10.0.0.1:80`. */
export function connectionError(
  endpoint: string,
  cause: unknown,
): GatewayError {
  if (cause instanceof GatewayError) return cause;
  if (!(cause instanceof HttpSyntaxError)) {
    return new GatewayError(
      "upstream_closed",
      "upstream",
      `Lost the connection to "${endpoint}"`,
      { cause },
    );
  }
  return new GatewayError(
    cause.kind === "truncated" ? "upstream_closed" : "upstream_protocol_error",
    "upstream",
    `Cannot read the response of "${endpoint}"`,
    { cause },
  );
}

/** Why a request ends when its client is gone: the given reason if it is an error of ours. */
export function cancellationError(reason: unknown): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError(
    "client_closed",
    "downstream",
    "Gave up the upstream request",
    { cause: reason },
  );
}

/** Why there is no connection: as the dialer says, or because it could not be opened. */
export function connectFailed(endpoint: string, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError(
    "upstream_connect_failed",
    "upstream",
    `Cannot connect to "${endpoint}"`,
    { cause },
  );
}

/** A time limit was reached; `message` says which. */
export function timedOut(message: string): GatewayError {
  return new GatewayError("upstream_timeout", "upstream", message);
}
