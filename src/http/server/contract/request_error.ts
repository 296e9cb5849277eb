import { GatewayError, type GatewayErrorCode } from "../../../base/errors.ts";
import {
  HttpSyntaxError,
  type SyntaxErrorKind,
} from "../../http1/http_syntax_error.ts";
import type { TransferPace } from "./transfer_pace.ts";

const codeOfSyntaxError: Readonly<Record<SyntaxErrorKind, GatewayErrorCode>> = {
  malformed: "bad_request",
  truncated: "client_closed",
  too_large: "head_too_large",
  version: "version_not_supported",
};

/** Converts an error while reading from a client to one attributed to the client. */
export function toRequestError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof HttpSyntaxError) {
    // Without a cause: the message would be repeated.
    return new GatewayError(
      codeOfSyntaxError[error.kind],
      "downstream",
      error.message,
    );
  }
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot read from the client: connection lost",
    { cause: error },
  );
}

/** Converts an error while writing a response; returns a `GatewayError` unchanged. */
export function clientGone(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot respond: connection lost",
    { cause },
  );
}

/** The client is connected but does not read its response; unlike a client that disconnects, it did not end the request. */
export class StalledClientError extends GatewayError {
  /** @param problem Such as `slower than 240 bytes per second`. */
  constructor(problem = "no data in time") {
    super(
      "client_closed",
      "downstream",
      `Cannot respond: the client does not read (${problem})`,
    );
  }
}

/** Creates the error for a client that keeps the gateway waiting for its body. */
export function slowBody({ problem }: TransferPace): GatewayError {
  return new GatewayError(
    "request_timeout",
    "downstream",
    `Cannot read the body: ${problem}`,
  );
}

/** Creates the error for a request that violates HTTP. */
export function badRequest(message: string): GatewayError {
  return new GatewayError("bad_request", "downstream", message);
}

/** Creates the error for CONNECT requests. */
export function connectNotSupported(): GatewayError {
  return new GatewayError(
    "method_not_supported",
    "downstream",
    "CONNECT is not supported",
  );
}

/** Creates the error for a handler that threw, which is a bug. */
export function handlerFailed(cause: unknown): GatewayError {
  return new GatewayError("internal", "gateway", "Cannot handle the request", {
    cause,
  });
}

/** Creates the reason to stop reading a body. */
export function responseComplete(): GatewayError {
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot read the body further: the response is complete",
  );
}
