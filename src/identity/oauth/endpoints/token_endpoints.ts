import type { Cancellation } from "../../../base/cancellation.ts";
import type {
  AuthorizationServices,
  ServerUrls,
} from "./authorization_services.ts";
import {
  CODE_MS,
  openCode,
  openRefreshToken,
  type RefreshGrant,
  sealRefreshToken,
} from "../grants/authorization_code.ts";
import { fingerprintOf } from "../clients/oauth_client.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  expectResource,
  isScope,
  type OAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";
import { jsonReply, type OAuthReply } from "../protocol/oauth_reply.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import { sha256 } from "../protocol/seal.ts";

/** Time after which providers end unused refresh tokens. */
const GRANT_MS = 90 * 24 * 60 * 60_000;

/** The endpoints that clients call without a browser: `token` and `revoke`. */
export class TokenEndpoints {
  readonly #services: AuthorizationServices;

  constructor(services: AuthorizationServices) {
    this.#services = services;
  }

  /** Issues tokens for a code or a refresh token. @throws {OAuthError} */
  async token(
    form: OAuthParameters,
    urls: ServerUrls,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const type = requiredParameter(form, "grant_type");
    expectResource(form, urls.issuer);
    switch (type) {
      case "authorization_code":
        return await this.#redeem(form, urls, cancellation);
      case "refresh_token":
        return await this.#refresh(form, urls, cancellation);
      default:
        throw new OAuthError(
          "unsupported_grant_type",
          "grant_type: expected authorization_code or refresh_token",
        );
    }
  }

  /**
   * Ends a grant (RFC 7009). Access tokens are the provider's and stay valid until they expire: revoking one has no effect and
   * returns 200, as for any unknown token.
   */
  async revoke(
    form: OAuthParameters,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const { seal, grants, clock, provider } = this.#services;
    const grant = openRefreshToken(seal, requiredParameter(form, "token"));
    if (
      grant !== undefined &&
      grant.client === fingerprintOf(requiredParameter(form, "client_id"))
    ) {
      await grants.end(grant.grant, clock.now() + GRANT_MS);
      await provider.revoke(grant.providerToken, cancellation);
    }
    return jsonReply(200, {});
  }

  async #redeem(
    form: OAuthParameters,
    urls: ServerUrls,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const { seal, provider } = this.#services;
    const code = openCode(seal, requiredParameter(form, "code"));
    const problem = code === undefined
      ? "unknown code"
      : this.#codeProblem(code, form, urls);
    if (code === undefined || problem !== undefined) {
      throw invalidGrant(problem ?? "unknown code");
    }
    await this.#spend(code.id);
    const tokens = await provider.exchange({
      code: code.providerCode,
      verifier: code.verifier,
      callback: `${urls.base}/callback`,
    }, cancellation).catch((error) => this.#release(code.id, error));
    const { client, issuer, scope, id } = code;
    return this.#reply(tokens, { grant: id, client, issuer, scope, number: 0 });
  }

  #codeProblem(
    code: NonNullable<ReturnType<typeof openCode>>,
    form: OAuthParameters,
    { issuer }: ServerUrls,
  ): string | undefined {
    const { clock } = this.#services;
    if (clock.now() >= code.expiresAt) return "the code has expired";
    if (code.issuer !== issuer) return "the code is for another MCP server";
    if (code.client !== fingerprintOf(requiredParameter(form, "client_id"))) {
      return "the code was issued to another client";
    }
    const redirectUri = form.get("redirect_uri");
    if (redirectUri !== undefined && redirectUri !== code.redirectUri) {
      return "redirect_uri differs from the authorization request";
    }
    const verifier = requiredParameter(form, "code_verifier");
    return sha256(verifier) === code.challenge
      ? undefined
      : "code_verifier does not match code_challenge";
  }

  /** Marks a code as used. A code that is used twice was stolen, so its grant ends for both users (RFC 6749 section 4.1.2). */
  async #spend(id: string): Promise<void> {
    const { grants, clock } = this.#services;
    if (await grants.spend(id, clock.now() + 2 * CODE_MS)) return;
    await grants.end(id, clock.now() + GRANT_MS);
    throw invalidGrant("the code was used before; its grant has ended");
  }

  /** Lets the client retry with a code that the provider could not redeem. */
  async #release(id: string, error: unknown): Promise<never> {
    const mayRetry = error instanceof OAuthError &&
      error.code === "temporarily_unavailable";
    if (mayRetry) await this.#services.grants.release(id);
    throw error;
  }

  async #refresh(
    form: OAuthParameters,
    { issuer }: ServerUrls,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const { seal, grants, provider } = this.#services;
    const grant = openRefreshToken(
      seal,
      requiredParameter(form, "refresh_token"),
    );
    const isOwn = grant !== undefined && grant.issuer === issuer &&
      grant.client === fingerprintOf(requiredParameter(form, "client_id"));
    if (!isOwn) throw invalidGrant("unknown refresh token");
    if (await grants.isEnded(grant.grant)) {
      throw invalidGrant("the grant has ended");
    }
    const scope = form.get("scope");
    if (scope !== undefined && !isScope(scope)) {
      throw new OAuthError("invalid_scope", "the scope is malformed");
    }
    await this.#useToken(grant);
    const tokens = await provider.refresh(
      grant.providerToken,
      scope,
      cancellation,
    ).catch((error) => this.#releaseToken(grant, error));
    return this.#reply(
      { ...tokens, refreshToken: tokens.refreshToken ?? grant.providerToken },
      { ...grant, number: grant.number + 1 },
    );
  }

  /** Public clients get a new refresh token each time. One that is used again was stolen, from whom is unknown (RFC 9700 section 4.14.2). */
  async #useToken({ grant, number }: RefreshGrant): Promise<void> {
    const { grants, clock } = this.#services;
    const untilMs = clock.now() + GRANT_MS;
    if (await grants.useToken(grant, number, untilMs) !== "reused") return;
    await grants.end(grant, untilMs);
    throw invalidGrant(
      "the refresh token was used before; its grant has ended",
    );
  }

  /** Lets the client retry with a refresh token that the provider has not accepted. */
  async #releaseToken(
    { grant, number }: RefreshGrant,
    error: unknown,
  ): Promise<never> {
    const { grants, clock } = this.#services;
    const isFinal = error instanceof OAuthError &&
      error.code === "invalid_grant";
    if (!isFinal) {
      await grants.releaseToken(grant, number, clock.now() + GRANT_MS);
    }
    throw error;
  }

  #reply(
    { accessToken, refreshToken, scope, expiresIn }: ProviderTokens,
    grant: Omit<RefreshGrant, "providerToken">,
  ): OAuthReply {
    const { seal } = this.#services;
    return jsonReply(200, {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: expiresIn,
      scope: scope ?? grant.scope,
      refresh_token: refreshToken && sealRefreshToken(seal, {
        ...grant,
        providerToken: refreshToken,
      }),
    });
  }
}

function invalidGrant(detail: string): OAuthError {
  return new OAuthError("invalid_grant", detail);
}
