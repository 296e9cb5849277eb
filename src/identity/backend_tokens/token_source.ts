import type { Cancellation } from "../../base/cancellation.ts";
import { describeError } from "../../base/errors.ts";
import { readFileText } from "../../base/regular_file.ts";
import { readClaims } from "../keys/jose.ts";
import type {
  Caller,
  CloudCredentials,
  IdentityAssertion,
  JwtBearer,
  TokenClient,
  TokenCredentials,
  TokenExchange,
} from "./backend_credentials.ts";
import type { IssuedToken } from "./oauth_library.ts";
import type { TokenEndpoints } from "./token_endpoint.ts";
import { tokenError } from "./token_error.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:";
const TYPE = "urn:ietf:params:oauth:token-type:";

/** URIs of the types that a caller's token may have (RFC 8693 section 3). */
export const tokenTypes = {
  AccessToken: `${TYPE}access_token`,
  Jwt: `${TYPE}jwt`,
  IdToken: `${TYPE}id_token`,
} as const;

/** URI of the type of an assertion about a user for another authorization server. */
const ASSERTION_TYPE = `${TYPE}id-jag`;

/** Gets tokens for identities of clouds. */
interface Clouds {
  /** @throws {GatewayError} `credentials_rejected` or `credentials_unavailable`. */
  request(credentials: CloudCredentials): Promise<IssuedToken>;
}

/** Gets tokens of all kinds. */
export class TokenSource {
  readonly #endpoints: Pick<TokenEndpoints, "request">;
  readonly #clouds: Clouds;

  constructor(
    endpoints: Pick<TokenEndpoints, "request">,
    clouds: Clouds,
  ) {
    this.#endpoints = endpoints;
    this.#clouds = clouds;
  }

  /**
   * Gets a new token.
   * @param caller Whom the token is for, where the credentials depend on that.
   * @param cancellation Aborts the requests.
   * @throws {GatewayError} Those of the endpoints and of the clouds; `caller_rejected` without a caller.
   */
  async fetch(
    credentials: TokenCredentials,
    caller: Caller | undefined,
    cancellation?: Cancellation,
  ): Promise<IssuedToken> {
    switch (credentials.kind) {
      case "clientCredentials":
        return await this.#fetchOwn(credentials, cancellation);
      case "tokenExchange":
        return await this.#exchange(
          credentials,
          requireCaller(credentials, caller),
          cancellation,
        );
      case "jwtBearer":
        return await this.#present(credentials, caller, cancellation);
      case "identityAssertion":
        return await this.#assert(
          credentials,
          requireCaller(credentials, caller),
          cancellation,
        );
      case "aws":
      case "google":
      case "azure":
        return await this.#clouds.request(credentials);
    }
  }

  async #fetchOwn(
    client: TokenClient,
    cancellation: Cancellation | undefined,
  ): Promise<IssuedToken> {
    return await this.#endpoints.request(client, {
      grantType: "client_credentials",
      parameters: {},
      isOfCaller: false,
      cancellation,
    });
  }

  async #exchange(
    credentials: TokenClient & TokenExchange,
    caller: Caller,
    cancellation: Cancellation | undefined,
  ): Promise<IssuedToken> {
    const { actor, subjectTokenType } = credentials;
    const actorToken = actor === undefined
      ? undefined
      : actor.file === undefined
      ? await this.#fetchActor(credentials, cancellation)
      : await readToken(actor.file, credentials);
    const issued = await this.#endpoints.request(credentials, {
      grantType: `${GRANT}token-exchange`,
      parameters: {
        subject_token: caller.token,
        subject_token_type: subjectTokenType,
        requested_token_type: tokenTypes.AccessToken,
        ...(actorToken !== undefined && {
          actor_token: actorToken,
          actor_token_type: actor?.file === undefined
            ? tokenTypes.AccessToken
            : tokenTypes.Jwt,
        }),
      },
      isOfCaller: true,
      cancellation,
    });
    const { issuedTokenType: type } = issued;
    if (type !== tokenTypes.AccessToken && type !== tokenTypes.Jwt) {
      const problem = '"issued_token_type" of the response is no access token';
      throw tokenError("credentials_rejected", credentials, problem);
    }
    if (actor !== undefined) await requireActor(issued, credentials);
    return issued;
  }

  /** The token of the actor is for the authorization server, and not for the backend. */
  async #fetchActor(
    client: TokenClient,
    cancellation: Cancellation | undefined,
  ): Promise<string> {
    const { audience: _, resource: __, scope: ___, ...parameters } =
      client.parameters;
    const { token } = await this.#fetchOwn(
      { ...client, parameters },
      cancellation,
    );
    return token;
  }

  /** Gets an assertion about the caller from the identity provider, and a token for it from the server of the service. */
  async #assert(
    credentials: TokenClient & IdentityAssertion,
    { token: subjectToken }: Caller,
    cancellation: Cancellation | undefined,
  ): Promise<IssuedToken> {
    const { identityProvider, subjectTokenType, server, parameters } =
      credentials;
    const { resource, scope } = parameters;
    const { token: assertion, issuedTokenType } = await this.#endpoints.request(
      identityProvider,
      {
        grantType: `${GRANT}token-exchange`,
        parameters: {
          subject_token: subjectToken,
          subject_token_type: subjectTokenType,
          requested_token_type: ASSERTION_TYPE,
          audience: server.url,
          ...(resource !== undefined && { resource }),
          ...(scope !== undefined && { scope }),
        },
        isAssertion: true,
        isOfCaller: true,
        cancellation,
      },
    );
    if (issuedTokenType !== ASSERTION_TYPE) {
      const problem = '"issued_token_type" of the response is no assertion';
      throw tokenError("credentials_rejected", identityProvider, problem);
    }
    return await this.#endpoints.request(credentials, {
      grantType: `${GRANT}jwt-bearer`,
      parameters: { assertion },
      isOfCaller: true,
      cancellation,
    });
  }

  async #present(
    credentials: TokenClient & JwtBearer,
    caller: Caller | undefined,
    cancellation: Cancellation | undefined,
  ): Promise<IssuedToken> {
    const { file } = credentials;
    const assertion = file === undefined
      ? requireCaller(credentials, caller).token
      : await readToken(file, credentials);
    return await this.#endpoints.request(credentials, {
      grantType: `${GRANT}jwt-bearer`,
      parameters: { assertion },
      isOfCaller: file === undefined,
      cancellation,
    });
  }
}

/** Returns the caller. @throws {GatewayError} `caller_rejected` without one. */
export function requireCaller(
  client: Pick<TokenClient, "backend">,
  caller: Caller | undefined,
): Caller {
  if (caller !== undefined) return caller;
  throw tokenError(
    "caller_rejected",
    client,
    'the request has no verified token of a user; add "jwtAuthentication" to the route',
  );
}

async function readToken(file: string, client: TokenClient): Promise<string> {
  try {
    const text = (await readFileText(file)).trim();
    if (text === "") throw new TypeError("it is empty");
    return text;
  } catch (error) {
    const problem = `cannot read "${file}": ${describeError(error)}`;
    throw tokenError("credentials_unavailable", client, problem);
  }
}

/** Some servers ignore `actor_token`, and issue a token in which nobody sees the gateway. An opaque token cannot be checked. */
async function requireActor(
  { token }: IssuedToken,
  client: TokenClient,
): Promise<void> {
  const claims = await readClaims(token);
  if (claims === undefined || typeof claims["act"] === "object") return;
  const problem =
    'the token has no "act": the authorization server has ignored the actor';
  throw tokenError("credentials_rejected", client, problem);
}
