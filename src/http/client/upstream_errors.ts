import { GatewayError } from "../../base/errors.ts";
import { HttpSyntaxError } from "../http1/http_syntax_error.ts";

/**
 * The connection ended without a byte of a response: the upstream failed, or it closed a pooled connection just when the request
 * was sent.
 */
export class UnansweredError extends GatewayError {
  /** @param refused The upstream declared that it did not process the request. */
  constructor(
    readonly refused: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super("upstream_closed", "upstream", message, options);
  }
}

/** Converts an error of a connection to one of its request. @param endpoint Such as `10.0.0.1:80`. */
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

/** Converts the reason of a cancellation to the request's error; returns a `GatewayError` unchanged. */
export function cancellationError(reason: unknown): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError(
    "client_closed",
    "downstream",
    "Upstream request cancelled",
    { cause: reason },
  );
}

/** Converts a dialer's error to the request's error; returns a `GatewayError` unchanged. */
export function connectFailed(endpoint: string, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError(
    "upstream_connect_failed",
    "upstream",
    `Cannot connect to "${endpoint}"`,
    { cause },
  );
}

/** Creates the error for a time limit; `message` names it. */
export function timedOut(message: string): GatewayError {
  return new GatewayError("upstream_timeout", "upstream", message);
}
