import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import {
  authenticate,
  loadOAuthLibrary,
  type OAuthLibrary,
  readIssuedToken,
  type ServerMetadata,
  withNonce,
} from "../backend_tokens/oauth_library.ts";
import { ProofKey } from "../backend_tokens/proof_key.ts";
import { isScope } from "../oauth/protocol/oauth_parameters.ts";
import { randomText, sha256 } from "../oauth/protocol/seal.ts";
import type { Vault } from "../vault/vault.ts";
import type { VaultId } from "../vault/vault_seal.ts";
import {
  clientOf,
  type Connection,
  type Grant,
  type GrantFacts,
  readGrantFacts,
  withGrant,
} from "./granted_connection.ts";
import type { LoginClients } from "./login_clients.ts";
import { LoginServerError, type LoginServers } from "./login_servers.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import type { GatewayUser } from "./user_login.ts";

/** Dependencies of logins at the authorization servers of backends. */
export interface ConnectionLoginsOptions {
  readonly vault: Pick<Vault, "read" | "write" | "remove">;
  readonly servers: LoginServers;
  readonly clients: LoginClients;
  readonly clock: Clock;
}

/** A login that was started, until its user comes back. */
interface PendingLogin extends GrantFacts {
  readonly state: string;
  readonly verifier: string;
}

/** The user came back without a login; the message is for the user. */
class ConnectionRejected extends Error {
  override readonly name = "ConnectionRejected";
}

/** Time that a user has to log in. */
const LOGIN_MS = 10 * 60_000;
const MAX_SCOPES = 64;

/**
 * Logins of users at the authorization servers of backends: authorization code with PKCE. What a login needs is in the vault under
 * the user and the backend, so that a user has one at a time for each, an answer counts once, and only for the user who has started.
 */
export class ConnectionLogins {
  readonly #options: ConnectionLoginsOptions;

  constructor(options: ConnectionLoginsOptions) {
    this.#options = options;
  }

  /**
   * Starts a login; returns the URL that the user has to visit.
   * @param asked Scopes that the backend has asked for; empty for those of the configuration or of the metadata.
   * @throws {Error} When the server cannot be used.
   */
  async start(
    login: UserLogin,
    user: GatewayUser,
    asked: readonly string[],
    cancellation: Cancellation,
  ): Promise<string> {
    const { servers, clients, vault } = this.#options;
    const { metadata, resource, scopes: listed, needsProof } = await servers
      .find(login, cancellation);
    const client = await clients.choose(login, metadata);
    const offline = login.scopes === undefined &&
      metadata.scopes_supported?.includes("offline_access") === true;
    const scopes = unite(
      asked.length > 0 ? asked : login.scopes ?? listed,
      offline ? ["offline_access"] : [],
    );
    const pending: PendingLogin = {
      state: randomText(),
      verifier: randomText(),
      scopes,
      issuer: metadata.issuer,
      resource,
      proofKey: needsProof ? await ProofKey.generate() : undefined,
      ...client,
    };
    const { proofKey } = pending;
    await vault.write(
      pendingId(login, user),
      { ...pending, proofKey: proofKey?.write() },
      LOGIN_MS,
    );
    const url = new URL(metadata.authorization_endpoint ?? "");
    const parameters = {
      ...login.parameters,
      response_type: "code",
      client_id: client.clientId,
      redirect_uri: clients.redirectUri(login),
      state: pending.state,
      code_challenge: sha256(pending.verifier),
      code_challenge_method: "S256",
      resource,
      // Binds the code, too (RFC 9449 section 10).
      ...(proofKey !== undefined && { dpop_jkt: proofKey.thumbprint }),
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      // Servers of OpenID Connect give no refresh token without it (Core section 11).
      ...(scopes.includes("offline_access") &&
        { prompt: login.parameters["prompt"] ?? "consent" }),
    };
    for (const [name, value] of Object.entries(parameters)) {
      url.searchParams.set(name, value);
    }
    return url.href;
  }

  /**
   * Ends a login with the answer of the server; returns the connection.
   * @throws {ConnectionRejected} When it is not the answer to this user, or the server has not granted anything.
   * @throws {Error} When the server does not respond as it should.
   */
  async finish(
    login: UserLogin,
    user: GatewayUser,
    answer: URLSearchParams,
    cancellation: Cancellation,
  ): Promise<Connection> {
    const { servers, clock } = this.#options;
    const pending = await this.#take(
      pendingId(login, user),
      answer.get("state"),
    );
    const metadata = await servers.metadataOf(
      login,
      pending.issuer,
      cancellation,
    );
    const grant = await this.#redeem(
      login,
      { pending, metadata, answer },
      cancellation,
    );
    const { state: _, verifier: __, ...granted } = pending;
    return withGrant(
      {
        ...granted,
        refreshToken: undefined,
        connectedAt: clock.now(),
      },
      grant,
      clock.now(),
    );
  }

  /** Returns the login with a state, once. A wrong state, which any page can send, does not end it. */
  async #take(id: VaultId, state: string | null): Promise<PendingLogin> {
    const { vault } = this.#options;
    const known = readPending(await vault.read(id) ?? {});
    if (known !== undefined && known.state === state) {
      const taken = readPending(await vault.remove(id) ?? {});
      if (taken?.state === state) return taken;
    }
    throw new ConnectionRejected(
      "it was not started by you in this browser, is over already, or took longer than ten minutes",
    );
  }

  async #redeem(
    login: UserLogin,
    { pending, metadata, answer }: {
      readonly pending: PendingLogin;
      readonly metadata: ServerMetadata;
      readonly answer: URLSearchParams;
    },
    cancellation: Cancellation,
  ): Promise<Grant> {
    const { servers, clients } = this.#options;
    const oauth = await loadOAuthLibrary();
    const { clientId, authentication } = clientOf(login, pending);
    const client = { client_id: clientId };
    const { state, verifier, resource, proofKey } = pending;
    const code = readAnswer(metadata, client, { answer, state }, oauth);
    return await withNonce(proofKey, oauth, async () => {
      const response = await oauth.authorizationCodeGrantRequest(
        metadata,
        client,
        await authenticate(authentication, metadata, oauth),
        code,
        clients.redirectUri(login),
        verifier,
        {
          ...await servers.requestOptions(login, cancellation, proofKey),
          additionalParameters: { resource },
        },
      );
      return readGrant(
        await oauth.processGenericTokenEndpointResponse(
          metadata,
          client,
          response,
        ),
        proofKey,
      );
    });
  }
}

/** Reads the grant of a token response. @param proofKey Key that it has to be bound to. @throws {TypeError} When the gateway cannot send the token. */
export function readGrant(
  response: Parameters<typeof readIssuedToken>[0],
  proofKey: ProofKey | undefined,
): Grant {
  const { refresh_token: refreshToken, scope } = response;
  return {
    ...readIssuedToken(response, { proofKey }),
    refreshToken,
    // GitHub separates them by commas.
    scopes: scope === undefined || scope === ""
      ? undefined
      : unite(scope.split(/[ ,]+/), []),
  };
}

/** Returns scopes of both lists, each once, as far as they are scopes and not too many. */
export function unite(
  some: readonly string[],
  others: readonly string[],
): readonly string[] {
  return [...new Set([...some, ...others])]
    .filter((scope) => isScope(scope) && !scope.includes(" "))
    .slice(0, MAX_SCOPES);
}

/** Checks the issuer (RFC 9207) before anything else of an answer is used, then its state. @throws {ConnectionRejected} */
function readAnswer(
  metadata: ServerMetadata,
  client: { readonly client_id: string },
  { answer, state }: {
    readonly answer: URLSearchParams;
    readonly state: string;
  },
  oauth: OAuthLibrary,
): URLSearchParams {
  try {
    return oauth.validateAuthResponse(metadata, client, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) {
      const code = /^[a-z_]{1,64}$/.test(error.error) ? error.error : "error";
      throw new ConnectionRejected(
        `the authorization server answers "${code}"`,
      );
    }
    if (!(error instanceof oauth.OperationProcessingError)) throw error;
    throw new ConnectionRejected(
      "the answer is not that of the authorization server",
    );
  }
}

function pendingId(
  { backend, resource, fingerprint }: UserLogin,
  { issuer, subject }: GatewayUser,
): VaultId {
  const client = JSON.stringify(["pending", fingerprint]);
  return { issuer, subject, server: backend, resource, client };
}

function readPending(value: JsonObject): PendingLogin | undefined {
  const facts = readGrantFacts(value);
  const own = readMembers(value, { state: "string", verifier: "string" });
  return facts && own && { ...facts, ...own };
}

/** An error that a user may see in full. */
export function isForUser(error: unknown): error is Error {
  return error instanceof ConnectionRejected ||
    error instanceof LoginServerError;
}
