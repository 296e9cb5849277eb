import type { GatewayError } from "../../../base/errors.ts";
import { malformed } from "../../http1/http_syntax_error.ts";
import {
  Http2ConnectionError,
  Http2StreamError,
  StreamResetError,
} from "../../http2/frames/http2_error.ts";
import { ERROR_CODES } from "../../http2/frames/http2_protocol.ts";
import { connectionError, UnansweredError } from "../upstream_errors.ts";

/**
 * Translates the end of a stream into the error of its request.
 * @param isTouched True if the response has begun, or the request's body was read: the request cannot be retried.
 */
export function streamFailure(
  endpoint: string,
  error: Error,
  isTouched: boolean,
): GatewayError {
  const isReset = error instanceof StreamResetError;
  const isBroken = breaksProtocol(error);
  const isRefused = isReset && error.isRefusal;
  if (!isTouched && (isRefused || !(isReset || isBroken))) {
    const message = `No response from "${endpoint}"`;
    return new UnansweredError(isRefused, message, { cause: error });
  }
  return connectionError(endpoint, isBroken ? malformed(error.message) : error);
}

/** Returns whether the error is a protocol error, detected by either side. */
function breaksProtocol(error: Error): boolean {
  return error instanceof Http2StreamError ||
    error instanceof Http2ConnectionError ||
    (error instanceof StreamResetError &&
      error.code === ERROR_CODES.protocolError);
}
