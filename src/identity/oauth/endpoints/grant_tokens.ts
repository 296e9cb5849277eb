import type { Cancellation } from "../../../base/cancellation.ts";
import { describeError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { DocumentUnavailableError } from "../../documents/remote_document.ts";
import { TokenError } from "../../tokens/token.ts";
import { fingerprintOf } from "../clients/oauth_client.ts";
import {
  type AuthorizationCode,
  CODE_MS,
  GRANT_MS,
  idOf,
  openCode,
  openRefreshToken,
  type RefreshGrant,
  sealRefreshToken,
} from "../grants/authorization_code.ts";
import { GrantRenewals } from "../grants/grant_renewals.ts";
import type { GrantId } from "../grants/grant_record.ts";
import { invalidGrant, OAuthError } from "../protocol/oauth_error.ts";
import {
  isScope,
  type OAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";
import { jsonReply, type OAuthReply } from "../protocol/oauth_reply.ts";
import { sha256 } from "../protocol/seal.ts";
import {
  type ProviderTokens,
  unavailable,
} from "../provider/provider_tokens.ts";
import type {
  AuthorizationServices,
  ServerUrls,
} from "./authorization_services.ts";

/** Lifetime of tokens about which the provider does not say it. */
const DEFAULT_SECONDS = 3600;

/** A form whose client has signed it, or only names itself. */
export interface SignedForm {
  readonly form: OAuthParameters;
  readonly isSigned: boolean;
}

/** Issues tokens to clients that a user has granted access in a browser. */
export class GrantTokens {
  readonly #services: AuthorizationServices;
  readonly #renewals: GrantRenewals;

  constructor(services: AuthorizationServices) {
    this.#services = services;
    this.#renewals = new GrantRenewals(services);
  }

  /** Issues tokens for a code. @throws {OAuthError} */
  async redeem(
    { form, isSigned }: SignedForm,
    urls: ServerUrls,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const { seal, provider } = this.#services;
    const code = openCode(seal, requiredParameter(form, "code"));
    if (code === undefined) throw invalidGrant("unknown code");
    const problem = this.#codeProblem(code, form, urls);
    if (problem !== undefined) throw invalidGrant(problem);
    expectSignature(code, isSigned);
    const startedAt = code.expiresAt - CODE_MS;
    await this.#spend({ id: code.id, startedAt });
    const tokens = await provider.exchange({
      code: code.providerCode,
      verifier: code.verifier,
      callback: `${urls.base}/callback`,
    }, cancellation).catch((error) => this.#release(code.id, error));
    const { client, issuer, id, signs } = code;
    const scope = tokens.scope ?? code.scope;
    await this.#list(tokens, { ...code, scope, startedAt });
    return this.#reply(tokens, {
      grant: id,
      startedAt,
      client,
      issuer,
      scope,
      signs,
      number: 0,
    });
  }

  /** Issues new tokens for a refresh token. @throws {OAuthError} */
  async refresh(
    { form, isSigned }: SignedForm,
    { issuer }: ServerUrls,
    cancellation: Cancellation,
  ): Promise<OAuthReply> {
    const { seal, grants, clock } = this.#services;
    const grant = openRefreshToken(
      seal,
      requiredParameter(form, "refresh_token"),
    );
    const isOwn = grant !== undefined && grant.issuer === issuer &&
      grant.client === fingerprintOf(requiredParameter(form, "client_id"));
    if (!isOwn) throw invalidGrant("unknown refresh token");
    expectSignature(grant, isSigned);
    if (await grants.isEnded(grant.grant)) {
      throw invalidGrant("the grant has ended");
    }
    const scope = form.get("scope");
    if (scope !== undefined && !isScope(scope)) {
      throw new OAuthError("invalid_scope", "the scope is malformed");
    }
    const tokens = await this.#renewals.renew(grant, scope, cancellation);
    const now = clock.now();
    await grants.touch(idOf(grant), now, now + GRANT_MS);
    return this.#reply(
      { ...tokens, refreshToken: tokens.refreshToken ?? grant.providerToken },
      { ...grant, number: grant.number + 1 },
    );
  }

  /** Adds a grant to the list, with the user whom the provider names. @throws {OAuthError} When requests with the token would be rejected. */
  async #list(
    { accessToken, refreshToken, expiresIn }: ProviderTokens,
    { id, clientName, issuer: resource, scope, startedAt }:
      & AuthorizationCode
      & {
        readonly startedAt: number;
      },
  ): Promise<void> {
    const { grants, clock } = this.#services;
    const { iss, sub } = await this.#claimsOf(accessToken);
    const lifetime = refreshToken === undefined
      ? 1000 * (expiresIn ?? DEFAULT_SECONDS)
      : GRANT_MS;
    await grants.add({
      id,
      startedAt,
      issuer: typeof iss === "string" ? iss : "",
      subject: typeof sub === "string" ? sub : "",
      client: clientName ?? "",
      resource,
      scopes: scope?.split(" ") ?? [],
      usedAt: clock.now(),
    }, clock.now() + lifetime);
  }

  async #claimsOf(token: string): Promise<JsonObject> {
    try {
      return await this.#services.verify(token);
    } catch (error) {
      if (error instanceof TokenError) {
        throw new OAuthError(
          "server_error",
          "the gateway does not accept the token of the identity provider",
          describeError(error),
        );
      }
      if (!(error instanceof DocumentUnavailableError)) throw error;
      throw unavailable(describeError(error));
    }
  }

  #codeProblem(
    code: AuthorizationCode,
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
  async #spend(grant: GrantId): Promise<void> {
    const { grants, clock } = this.#services;
    if (await grants.spend(grant.id, clock.now() + 2 * CODE_MS)) return;
    await grants.end(grant, clock.now() + GRANT_MS);
    throw invalidGrant("the code was used before; its grant has ended");
  }

  /** Lets the client retry with a code that the provider could not redeem. */
  async #release(id: string, error: unknown): Promise<never> {
    const mayRetry = error instanceof OAuthError &&
      error.code === "temporarily_unavailable";
    if (mayRetry) await this.#services.grants.release(id);
    throw error;
  }

  #reply(
    { accessToken, refreshToken, scope, expiresIn }: ProviderTokens,
    grant: Omit<RefreshGrant, "providerToken">,
  ): OAuthReply {
    const { seal, tokens, clock } = this.#services;
    const lifetime = 1000 * (expiresIn ?? DEFAULT_SECONDS);
    return jsonReply(200, {
      access_token: tokens.issue({
        grant: grant.grant,
        startedAt: grant.startedAt,
        client: grant.client,
        resource: grant.issuer,
        expiresAt: clock.now() + lifetime,
        subject: { token: accessToken },
      }),
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

/** @throws {OAuthError} `invalid_client` when a client that signs has not. */
export function expectSignature(
  { signs }: { readonly signs: boolean },
  isSigned: boolean,
): void {
  if (!signs || isSigned) return;
  throw new OAuthError("invalid_client", "client_assertion is missing");
}
