/** Which rule of the message syntax was broken; callers turn it into a 400, 431, 505 or a 502. */
export type SyntaxErrorKind =
  | "malformed"
  | "too_large"
  | "version"
  | "truncated";

/** A message that breaks HTTP's syntax or our limits. */
export class HttpSyntaxError extends Error {
  override readonly name = "HttpSyntaxError";

  constructor(
    readonly kind: SyntaxErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Shorthand for the common kind. */
export function malformed(message: string): HttpSyntaxError {
  return new HttpSyntaxError("malformed", message);
}
