import { describeError } from "../../base/errors.ts";
import { showValues } from "../../base/log/log_text.ts";
import { DocumentUnavailableError } from "../documents/remote_document.ts";
import { TokenError } from "./token.ts";

/** The reason why a token is not accepted, or not now. */
export type VerificationError = TokenError | DocumentUnavailableError;

/** A provider that has not accepted a token. */
export interface FailedProvider {
  readonly provider: { readonly audiences: readonly string[] | undefined };
  readonly error: VerificationError;
}

/** Distinguishes verdicts about a token from failures of the gateway. */
export function isVerificationError(
  error: unknown,
): error is VerificationError {
  return error instanceof TokenError ||
    error instanceof DocumentUnavailableError;
}

/** Longer lists of providers that a token failed at are cut. */
const MAX_SHOWN_FAILURES = 3;

/** Returns the error for a token that no provider of its issuer accepts. */
export function failureOf(
  failures: readonly FailedProvider[],
): VerificationError {
  const errors = failures.map(({ error }) => error);
  // A provider without keys may accept the token later.
  const decisive = errors.length === 1
    ? errors[0]
    : errors.find((error) => error instanceof DocumentUnavailableError);
  if (decisive !== undefined) return decisive;
  const messages = new Set(errors.map(({ message }) => message));
  const tried = failures.slice(0, MAX_SHOWN_FAILURES).map((
    { provider: { audiences }, error },
  ) =>
    `for audiences ${
      audiences === undefined ? "of any name" : showValues(audiences)
    }: ${describeError(error)}`
  );
  const more = failures.length - tried.length;
  return new TokenError(
    [...messages].join(", "),
    `tried ${failures.length} providers of its issuer: ${tried.join("; ")}${
      more > 0 ? `; and ${more} more` : ""
    }`,
  );
}
