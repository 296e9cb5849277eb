import type { Cancellation } from "../../base/cancellation.ts";
import { describeError } from "../../base/errors.ts";
import { readFileText } from "../../base/regular_file.ts";
import { readClaims } from "../keys/jose.ts";
import {
  type Caller,
  type CloudCredentials,
  type IdentityAssertion,
  isCloudIdentity,
  type JwtBearer,
  type TokenClient,
  type TokenCredentials,
  type TokenExchange,
} from "./backend_credentials.ts";
import type { IssuedToken } from "./oauth_library.ts";
import { ProofKey } from "./proof_key.ts";
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

/** Circumstances of a request for a token. */
export interface TokenDemand {
  /** Aborts the requests. */
  readonly cancellation?: Cancellation | undefined;
  /** The backend wants proofs: the token gets a key of its own. */
  readonly needsProof?: boolean;
}

/** Circumstances of the requests to a server. */
interface Reach {
  readonly cancellation: Cancellation | undefined;
  readonly proofKey: ProofKey | undefined;
}

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
   * @throws {GatewayError} Those of the endpoints and of the clouds; `caller_rejected` without a caller.
   */
  async fetch(
    credentials: TokenCredentials,
    caller: Caller | undefined,
    { cancellation, needsProof = false }: TokenDemand = {},
  ): Promise<IssuedToken> {
    if (isCloudIdentity(credentials)) {
      return await this.#clouds.request(credentials);
    }
    const proofKey = needsProof || credentials.requiresProof === true
      ? await ProofKey.generate()
      : undefined;
    const reach = { cancellation, proofKey };
    switch (credentials.kind) {
      case "clientCredentials":
        return await this.#fetchOwn(credentials, reach);
      case "tokenExchange":
        return await this.#exchange(
          credentials,
          requireCaller(credentials, caller),
          reach,
        );
      case "jwtBearer":
        return await this.#present(credentials, caller, reach);
      case "identityAssertion":
        return await this.#assert(
          credentials,
          requireCaller(credentials, caller),
          reach,
        );
    }
  }

  async #fetchOwn(
    client: TokenClient,
    reach: Reach,
  ): Promise<IssuedToken> {
    return await this.#endpoints.request(client, {
      grantType: "client_credentials",
      parameters: {},
      isOfCaller: false,
      ...reach,
    });
  }

  async #exchange(
    credentials: TokenClient & TokenExchange,
    caller: Caller,
    reach: Reach,
  ): Promise<IssuedToken> {
    const { actor, subjectTokenType } = credentials;
    const actorToken = actor === undefined
      ? undefined
      : actor.file === undefined
      ? await this.#fetchActor(credentials, reach)
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
      ...reach,
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
    reach: Reach,
  ): Promise<string> {
    const { audience: _, resource: __, scope: ___, ...parameters } =
      client.parameters;
    const { token } = await this.#fetchOwn(
      { ...client, parameters },
      { ...reach, proofKey: undefined },
    );
    return token;
  }

  /** Gets an assertion about the caller from the identity provider, and a token for it from the server of the service. */
  async #assert(
    credentials: TokenClient & IdentityAssertion,
    { token: subjectToken }: Caller,
    reach: Reach,
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
        cancellation: reach.cancellation,
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
      ...reach,
    });
  }

  async #present(
    credentials: TokenClient & JwtBearer,
    caller: Caller | undefined,
    reach: Reach,
  ): Promise<IssuedToken> {
    const { file } = credentials;
    const assertion = file === undefined
      ? requireCaller(credentials, caller).token
      : await readToken(file, credentials);
    return await this.#endpoints.request(credentials, {
      grantType: `${GRANT}jwt-bearer`,
      parameters: { assertion },
      isOfCaller: file === undefined,
      ...reach,
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
