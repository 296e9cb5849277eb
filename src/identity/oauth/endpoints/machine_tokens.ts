import { type JsonObject, stringMember } from "../../../base/json.ts";
import type { KeySource } from "../../keys/key_set.ts";
import { fingerprintOf } from "../clients/oauth_client.ts";
import {
  type AssertionServices,
  verifyAssertion,
} from "../clients/signed_assertion.ts";
import type { AuthenticatedClient } from "../clients/token_clients.ts";
import type { AccessTokens } from "../grants/access_token.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  isScope,
  type OAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";
import { jsonReply, type OAuthReply } from "../protocol/oauth_reply.ts";
import { readClaims } from "../../keys/jose.ts";

/** An identity provider whose assertions about users are accepted. */
export interface AssertionIssuer {
  readonly issuer: string;
  readonly keys: KeySource;
}

/** Dependencies of the tokens. */
export interface MachineTokensOptions extends AssertionServices {
  readonly tokens: AccessTokens;
  readonly issuers: readonly AssertionIssuer[];
}

/** Issuer of the tokens, and the MCP server that they are for. */
interface TokenServer {
  readonly issuer: string;
}

/** Lifetime of the tokens: there are no refresh tokens, since the client can ask again. */
const LIFETIME_SECONDS = 900;
/** Claims of an assertion that are about itself. */
const ownClaims: ReadonlySet<string> = new Set([
  "act",
  "aud",
  "client_id",
  "cnf",
  "exp",
  "iat",
  "jti",
  "nbf",
  "resource",
  "scope",
]);

/** Issues tokens without a login at the gateway: for the client itself, or for a user about whom an identity provider makes an assertion. */
export class MachineTokens {
  readonly #options: MachineTokensOptions;

  constructor(options: MachineTokensOptions) {
    this.#options = options;
  }

  /** Issues a token for the client itself (RFC 6749 section 4.4). @throws {OAuthError} */
  forClient(
    { id, configured }: AuthenticatedClient,
    form: OAuthParameters,
    urls: TokenServer,
  ): OAuthReply {
    if (configured?.actsForItself !== true) {
      throw new OAuthError(
        "unauthorized_client",
        "the client may not get tokens for itself",
      );
    }
    const scopes = scopesOf(form, configured.scopes);
    return this.#reply({ iss: urls.issuer, sub: id }, { id, scopes, urls });
  }

  /**
   * Issues a token for the user of an Identity Assertion JWT Authorization Grant
   * (draft-ietf-oauth-identity-assertion-authz-grant section 4.4).
   * @throws {OAuthError} `invalid_grant`
   */
  async forUser(
    client: AuthenticatedClient,
    form: OAuthParameters,
    urls: TokenServer,
  ): Promise<OAuthReply> {
    const assertion = requiredParameter(form, "assertion");
    const unverified: JsonObject = { ...await readClaims(assertion) };
    const issuer = this.#options.issuers.find((each) =>
      each.issuer === unverified["iss"]
    );
    if (issuer === undefined) {
      throw invalidGrant("the issuer of the assertion is not accepted");
    }
    const claims = await verifyAssertion(assertion, {
      name: "assertion",
      code: "invalid_grant",
      isType: (typ) =>
        typeof typ === "string" &&
        /^(?:application\/)?oauth-id-jag\+jwt$/i.test(typ),
      ...issuer,
      audiences: [urls.issuer],
    }, this.#options);
    if (claims["client_id"] !== client.id) {
      throw invalidGrant("the assertion is for another client");
    }
    if (claims["cnf"] !== undefined) {
      throw invalidGrant("the assertion is bound to a key");
    }
    expectResource(claims["resource"], urls);
    if ((stringMember(claims, "sub") ?? "") === "") {
      throw invalidGrant("the assertion names no user");
    }
    const granted = stringMember(claims, "scope")?.split(" ") ?? [];
    const user = Object.fromEntries(
      Object.entries(claims).filter(([name]) => !ownClaims.has(name)),
    );
    const { configured } = client;
    const scopes = scopesOf(form, granted)
      .filter((scope) => configured?.scopes.includes(scope) ?? true);
    return this.#reply(user, { id: client.id, scopes, urls });
  }

  #reply(
    claims: JsonObject,
    { id, scopes, urls: { issuer } }: {
      readonly id: string;
      readonly scopes: readonly string[];
      readonly urls: TokenServer;
    },
  ): OAuthReply {
    const { tokens, clock } = this.#options;
    const now = clock.now();
    const issuedAt = Math.floor(now / 1000);
    const scope = scopes.join(" ");
    return jsonReply(200, {
      access_token: tokens.issue({
        grant: crypto.randomUUID().replaceAll("-", ""),
        startedAt: now,
        client: fingerprintOf(id),
        resource: issuer,
        expiresAt: now + LIFETIME_SECONDS * 1000,
        subject: {
          claims: {
            ...claims,
            client_id: id,
            aud: issuer,
            iat: issuedAt,
            exp: issuedAt + LIFETIME_SECONDS,
            ...(scope !== "" && { scope }),
          },
        },
      }),
      token_type: "Bearer",
      expires_in: LIFETIME_SECONDS,
      ...(scope !== "" && { scope }),
    });
  }
}

/** Returns the scopes of a token: those that the client asks for, or all that it may have. @throws {OAuthError} `invalid_scope` */
function scopesOf(
  form: OAuthParameters,
  allowed: readonly string[],
): readonly string[] {
  const scope = form.get("scope");
  if (scope === undefined) return allowed;
  const asked = isScope(scope) ? scope.split(" ") : [];
  if (asked.length > 0 && asked.every((each) => allowed.includes(each))) {
    return asked;
  }
  throw new OAuthError("invalid_scope", "the client may not have this scope");
}

/** @throws {OAuthError} `invalid_grant` */
function expectResource(resource: unknown, { issuer }: TokenServer): void {
  const resources: readonly unknown[] = Array.isArray(resource)
    ? resource
    : [resource];
  const isHere = resources.length > 0 &&
    resources.every((each) =>
      typeof each === "string" &&
      each.replace(/\/$/, "") === issuer.replace(/\/$/, "")
    );
  if (!isHere) throw invalidGrant("the assertion is for another resource");
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError("invalid_grant", description);
}
