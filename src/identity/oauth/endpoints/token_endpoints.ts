import type { Cancellation } from "../../../base/cancellation.ts";
import { fingerprintOf } from "../clients/oauth_client.ts";
import {
  GRANT_MS,
  idOf,
  openRefreshToken,
} from "../grants/authorization_code.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  expectResource,
  type OAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";
import { jsonReply, type OAuthReply } from "../protocol/oauth_reply.ts";
import type {
  AuthorizationServices,
  ServerUrls,
} from "./authorization_services.ts";
import {
  expectSignature,
  GrantTokens,
  type SignedForm,
} from "./grant_tokens.ts";

/** Grant type of assertions (RFC 7523 section 2.1). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** A request of a client without a browser. */
export interface TokenRequest {
  readonly form: OAuthParameters;
  /** Header `Authorization`. */
  readonly authorization: string | undefined;
  readonly urls: ServerUrls;
  readonly cancellation: Cancellation;
}

/** The endpoints that clients call without a browser: `token` and `revoke`. */
export class TokenEndpoints {
  readonly #services: AuthorizationServices;
  readonly #tokens: GrantTokens;

  constructor(services: AuthorizationServices) {
    this.#services = services;
    this.#tokens = new GrantTokens(services);
  }

  /** Issues tokens for a code, a refresh token, an assertion about a user, or the client itself. @throws {OAuthError} */
  async token(request: TokenRequest): Promise<OAuthReply> {
    const { urls, cancellation } = request;
    const { machines } = this.#services;
    const type = requiredParameter(request.form, "grant_type");
    expectResource(request.form, urls.issuer);
    switch (type) {
      case "authorization_code":
        return await this.#tokens.redeem(
          await this.#readForm(request),
          urls,
          cancellation,
        );
      case "refresh_token":
        return await this.#tokens.refresh(
          await this.#readForm(request),
          urls,
          cancellation,
        );
      case "client_credentials":
        return machines.forClient(
          await this.#authenticate(request),
          request.form,
          urls,
        );
      case JWT_BEARER:
        return await machines.forUser(
          await this.#authenticate(request),
          request.form,
          urls,
        );
      default:
        throw new OAuthError(
          "unsupported_grant_type",
          "grant_type: expected authorization_code, refresh_token, client_credentials or jwt-bearer",
        );
    }
  }

  /** Authenticates a client that signs; others only name themselves. */
  async #readForm(request: TokenRequest): Promise<SignedForm> {
    const { form } = request;
    if (!form.has("client_assertion")) return { form, isSigned: false };
    const { id } = await this.#authenticate(request);
    return { form: new Map([...form, ["client_id", id]]), isSigned: true };
  }

  #authenticate({ form, authorization, urls, cancellation }: TokenRequest) {
    const { issuer, base } = urls;
    return this.#services.clients.authenticate({
      form,
      authorization,
      audiences: [issuer, `${base}/token`, `${base}/revoke`],
      cancellation,
    });
  }

  /**
   * Ends the grant of a refresh token or an access token (RFC 7009); returns 200 for any unknown token.
   */
  async revoke(request: TokenRequest): Promise<OAuthReply> {
    const { seal, grants, clock, provider, tokens } = this.#services;
    const { form, isSigned } = await this.#readForm(request);
    const { cancellation } = request;
    const token = requiredParameter(form, "token");
    const refresh = openRefreshToken(seal, token);
    const grant = refresh ?? tokens.read(token);
    if (refresh !== undefined) expectSignature(refresh, isSigned);
    if (grant?.client === fingerprintOf(requiredParameter(form, "client_id"))) {
      await grants.end(idOf(grant), clock.now() + GRANT_MS);
      if (refresh !== undefined) {
        await provider.revoke(refresh.providerToken, cancellation);
      }
    }
    return jsonReply(200, {});
  }
}
