/** Kinds of syntax errors; callers map them to 400, 431, 505 or 502. */
export type SyntaxErrorKind =
  | "malformed"
  | "too_large"
  | "version"
  | "truncated";

/** A message that violates HTTP's syntax or the gateway's limits. */
export class HttpSyntaxError extends Error {
  override readonly name = "HttpSyntaxError";

  constructor(readonly kind: SyntaxErrorKind, message: string) {
    super(message);
  }
}

/** Creates an error of the common kind. */
export function malformed(message: string): HttpSyntaxError {
  return new HttpSyntaxError("malformed", message);
}
