import {
  type Cancellation,
  createDeadline,
  unlessCancelled,
} from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { isJsonObject, stringMember } from "../../../base/json.ts";
import type { CloudCredentials, CloudToken } from "../backend_credentials.ts";
import type { IssuedToken } from "../oauth_library.ts";
import { tokenError } from "../token_error.ts";

/** Dependencies of tokens of clouds. */
export interface CloudTokensOptions {
  readonly clock: Clock;
  /** Aborts requests when the gateway stops. */
  readonly cancellation: Cancellation;
}

/** Time for all requests that a token needs, such as those to find a metadata server and to assume a role. */
const TIMEOUT_MS = 20_000;
const MAX_PROBLEM_LENGTH = 200;

/**
 * Gets tokens for identities of clouds with the clouds' own libraries, which are loaded with the first one. The libraries find the
 * servers in the environment and in files of the operator, and connect themselves: `config.egress` does not apply to that.
 */
export class CloudTokens {
  readonly #options: CloudTokensOptions;

  constructor(options: CloudTokensOptions) {
    this.#options = options;
  }

  /**
   * Gets a new token.
   * @throws {GatewayError} `credentials_rejected` when the cloud rejects the identity, `credentials_unavailable` when there is none, or
   * no server responds as it should.
   */
  async request(credentials: CloudCredentials): Promise<IssuedToken> {
    const { clock, cancellation: closing } = this.#options;
    const { cancellation, lift } = createDeadline(
      closing,
      clock,
      TIMEOUT_MS,
      () => new Error(`no token within ${TIMEOUT_MS} ms`),
    );
    try {
      const { token, expiresAt } = await unlessCancelled(
        fetchToken(credentials),
        cancellation,
      );
      const lifetimeMs = expiresAt === undefined
        ? undefined
        : Math.max(0, expiresAt - clock.now());
      return { token, lifetimeMs, issuedTokenType: undefined };
    } catch (error) {
      throw toTokenError(error, credentials);
    } finally {
      lift();
    }
  }
}

async function fetchToken(credentials: CloudCredentials): Promise<CloudToken> {
  switch (credentials.kind) {
    case "aws": {
      const { fetchAwsKey } = await import("./aws_identity.ts");
      return await fetchAwsKey(credentials);
    }
    case "google": {
      const { fetchGoogleToken } = await import("./google_identity.ts");
      return await fetchGoogleToken(credentials);
    }
    case "azure": {
      const { fetchAzureToken } = await import("./azure_identity.ts");
      return await fetchAzureToken(credentials);
    }
  }
}

/** Responses may quote what they got, so that only the status and the code of one are shown. */
function toTokenError(error: unknown, credentials: CloudCredentials) {
  const response = readResponse(error);
  if (response === undefined) {
    return tokenError(
      "credentials_unavailable",
      credentials,
      problemOf(error),
    );
  }
  const { status, code } = response;
  const isRejected = status >= 400 && status < 500 && status !== 429;
  return tokenError(
    isRejected ? "credentials_rejected" : "credentials_unavailable",
    credentials,
    `the cloud responds with ${status}, ${code}`,
  );
}

/** Describes an error without a response: no file, no profile, no connection. */
function problemOf(error: unknown): string {
  // A parser quotes what it reads, such as a private key.
  if (error instanceof SyntaxError) return "a file is not JSON";
  const [line = ""] = describeError(error).split("\n", 1);
  return line.slice(0, MAX_PROBLEM_LENGTH).replaceAll(tokenLike, "<redacted>");
}

/** Long texts with digits, as tokens and keys are, and names are not. */
const tokenLike = /(?=[\w+=~-]*\d)[\w+=~-]{24,}/g;

/** Reads the response in an error of one of the libraries, or in the cause of one. */
function readResponse(
  error: unknown,
): { readonly status: number; readonly code: string } | undefined {
  if (!isJsonObject(error)) return undefined;
  const { $metadata, response, status } = error;
  const found = [status, $metadata, response].map((each) =>
    isJsonObject(each) ? each["httpStatusCode"] ?? each["status"] : each
  ).find((each) => typeof each === "number");
  if (typeof found !== "number") return readResponse(error["cause"]);
  const body = isJsonObject(response) ? response["data"] : undefined;
  const code = isJsonObject(body)
    ? codeOf(body)
    : stringMember(error, "errorCode") ?? stringMember(error, "name");
  const isCode = code !== undefined && /^[\w. -]{1,64}$/.test(code);
  return { status: found, code: isCode ? code : "an unknown error" };
}

/** Returns `error` of OAuth, or the status of Google's APIs. */
function codeOf(body: Readonly<Record<string, unknown>>): string | undefined {
  const { error } = body;
  if (isJsonObject(error)) return stringMember(error, "status");
  return typeof error === "string" ? error : undefined;
}
