import { describeError } from "../../base/errors.ts";
import {
  DocumentCoolDownError,
  type DocumentUnavailableError,
} from "../../identity/documents/remote_document.ts";
import { GrantUnavailableError } from "../../identity/oauth/grants/access_token.ts";
import { proofAlgorithms } from "../../identity/tokens/dpop_proof.ts";
import type { TokenError } from "../../identity/tokens/token.ts";
import { IntrospectionUnavailableError } from "../../identity/tokens/token_introspector.ts";
import {
  type BearerChallenge,
  bearerChallenge,
  rejectWith,
} from "../authentication/auth_responses.ts";
import { Rejection } from "../contract/rejection.ts";
import {
  ProofUnavailableError,
  TokenBindingError,
} from "./binding/token_binding.ts";
import type { TokenBindingConfig } from "./binding/token_binding_schema.ts";

/** RFC 6750 section 3.1: without a token there is no error code. */
export function demandToken(
  demand: BearerChallenge,
  binding: TokenBindingConfig["mode"],
): Rejection<"jwt_auth"> {
  const description = "a bearer token is required";
  const response = rejectWith("unauthorized", description, {
    "www-authenticate": bearerChallenge(demand),
  });
  if (binding === "Required") {
    response.headers.append("www-authenticate", dpopChallenge(demand));
  }
  return new Rejection("jwt_auth", description, response);
}

/** Names the failed check to the client; only log and trace have the found and expected values. */
export function rejectToken(
  tokenError: TokenError,
  demand: BearerChallenge,
): Rejection<"jwt_auth"> {
  const { message: description } = tokenError;
  const error = tokenError instanceof TokenBindingError
    ? tokenError.code
    : "invalid_token";
  const challenge = { ...demand, error, description };
  const isAboutProof = demand.scheme === "DPoP" ||
    tokenError instanceof TokenBindingError;
  const response = rejectWith("invalid_token", description, {
    "www-authenticate": isAboutProof
      ? dpopChallenge(challenge)
      : bearerChallenge(challenge),
  });
  return new Rejection("jwt_auth", describeError(tokenError), response);
}

/**
 * Responds with 503: without keys, the token cannot be verified. Anybody can name a key that nobody has, so such requests count apart
 * from failures.
 */
export function rejectTemporarily(
  error: DocumentUnavailableError,
): Rejection<"jwt_auth" | "jwt_unknown_key"> {
  const description = error instanceof ProofUnavailableError
    ? "the DPoP proof cannot be checked"
    : error instanceof GrantUnavailableError
    ? "the gateway cannot read whether the token was revoked"
    : error instanceof IntrospectionUnavailableError
    ? "the identity provider cannot be asked about the token"
    : error instanceof DocumentCoolDownError
    ? "the key of the token is unknown, and newer keys are not available yet"
    : "the keys of the identity provider are not available";
  return new Rejection(
    error instanceof DocumentCoolDownError ? "jwt_unknown_key" : "jwt_auth",
    `${description}: ${describeError(error)}`,
    rejectWith("temporarily_unavailable", description, {
      "retry-after": String(error.retryAfter),
    }),
  );
}

/** Creates a challenge for a token with a proof (RFC 9449 section 7.1). */
function dpopChallenge(demand: BearerChallenge): string {
  return bearerChallenge({ ...demand, scheme: "DPoP", algs: proofAlgorithms });
}
