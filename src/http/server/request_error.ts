import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import {
  HttpSyntaxError,
  type SyntaxErrorKind,
} from "../http1/http_syntax_error.ts";

const codeOfSyntaxError: Readonly<Record<SyntaxErrorKind, GatewayErrorCode>> = {
  malformed: "bad_request",
  truncated: "client_closed",
  too_large: "head_too_large",
  version: "version_not_supported",
};

/** What went wrong while reading from a client, as the client's fault. */
export function toRequestError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof HttpSyntaxError) {
    // Not as the cause: it would be told twice.
    return new GatewayError(
      codeOfSyntaxError[error.kind],
      "downstream",
      error.message,
    );
  }
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot read from the client: the connection broke",
    { cause: error },
  );
}

/** Why a response could not be written; an error of ours stays what it is. */
export function clientGone(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot answer: the connection broke",
    { cause },
  );
}

/** The client has not left but takes nothing of its response: unlike one that leaves, it did not choose to end it. */
export class StalledClientError extends GatewayError {
  constructor() {
    super(
      "client_closed",
      "downstream",
      "Cannot answer: the client does not read",
    );
  }
}

/** A request that breaks a rule of HTTP. */
export function badRequest(message: string): GatewayError {
  return new GatewayError("bad_request", "downstream", message);
}

/** Whoever sends CONNECT asks for a tunnel. */
export function tunnelRefused(): GatewayError {
  return new GatewayError(
    "method_not_supported",
    "downstream",
    "Cannot act as a tunnel: CONNECT is not supported",
  );
}

/** A bug of ours: the handler threw. */
export function handlerFailed(cause: unknown): GatewayError {
  return new GatewayError("internal", "gateway", "Cannot handle the request", {
    cause,
  });
}

/** Why a body is not read any further. */
export function responseComplete(): GatewayError {
  return new GatewayError(
    "client_closed",
    "downstream",
    "Cannot read the body further: the response is complete",
  );
}
