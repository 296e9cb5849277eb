import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../../base/json.ts";
import type { EgressPolicy } from "../../../base/wire/egress_policy.ts";
import {
  type DocumentAddress,
  fetchDocument,
} from "../../documents/document_client.ts";
import { DocumentUnavailableError } from "../../documents/remote_document.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  basicCredentials,
  type OAuthParameters,
} from "../protocol/oauth_parameters.ts";
import {
  misconfigured,
  type ProviderTokens,
  type ReadableToken,
  readTokens,
  tokenError,
  unavailable,
} from "./provider_tokens.ts";
import { sha256 } from "../protocol/seal.ts";

/** The gateway's own registration at the provider, and access to the provider. */
export interface ProviderClientOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** `undefined` for a public client. */
  readonly clientSecret: string | undefined;
  /** Scopes that every login requests, besides those of the client. */
  readonly scopes: readonly string[];
  /** Parameters that make the provider issue tokens for the MCP server, such as `{ audience }`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The token of the provider that says who the user is. */
  readonly token: ReadableToken;
  /** Parameters of the authorization request alone. */
  readonly loginParameters: Readonly<Record<string, string>>;
  readonly metadata: { get(): JsonObject | Promise<JsonObject> };
  addressOf(url: string): DocumentAddress;
  readonly clock: Clock;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
}

/** A login at the provider. */
export interface ProviderLogin {
  readonly state: string;
  readonly verifier: string;
  readonly callback: string;
  readonly scope: string | undefined;
  /** Parameters of the client for the provider, such as `prompt`. */
  readonly forwarded: Readonly<Record<string, string>>;
}

const MAX_CALLS = 32;

/** Client of the identity provider: authorization URL, code exchange, refresh, revocation. */
export class ProviderClient {
  readonly #options: ProviderClientOptions;
  #calls = 0;

  constructor(options: ProviderClientOptions) {
    this.#options = options;
  }

  /** Returns the provider's metadata. @throws {OAuthError} `temporarily_unavailable` or `server_error`. */
  async metadata(): Promise<JsonObject> {
    const { issuer } = this.#options;
    const found = await this.#fetchMetadata();
    // RFC 8414 section 3.3: metadata of another issuer would send users and codes to that issuer.
    if (found["issuer"] === issuer) return found;
    throw misconfigured(
      '"issuer" of its metadata is not the configured issuer',
    );
  }

  async #fetchMetadata(): Promise<JsonObject> {
    try {
      return await this.#options.metadata.get();
    } catch (error) {
      if (!(error instanceof DocumentUnavailableError)) throw error;
      throw new OAuthError(
        "temporarily_unavailable",
        "the identity provider is not available",
        describeError(error),
        error.retryAfter,
      );
    }
  }

  /** Returns the URL where the browser logs in. */
  async loginUrl(
    { state, verifier, callback, scope, forwarded }: ProviderLogin,
  ): Promise<string> {
    const { clientId, scopes, parameters, loginParameters } = this.#options;
    const url = endpointOf(await this.metadata(), "authorization_endpoint");
    const requested = new Set([...scopes, ...scope?.split(" ") ?? []]);
    const query = {
      // Providers issue refresh tokens only with the user's consent (OpenID Connect Core section 11).
      ...(requested.has("offline_access") && { prompt: "consent" }),
      ...forwarded,
      response_type: "code",
      client_id: clientId,
      redirect_uri: callback,
      state,
      code_challenge: sha256(verifier),
      code_challenge_method: "S256",
      ...(requested.size > 0 && { scope: [...requested].join(" ") }),
      ...parameters,
      ...loginParameters,
    };
    for (const [name, value] of Object.entries(query)) {
      url.searchParams.set(name, value);
    }
    return url.href;
  }

  /**
   * Checks that a response of the authorization endpoint is from this provider (RFC 9207 section 2.4).
   * @throws {OAuthError} `access_denied`
   */
  async expectIssuer(response: OAuthParameters): Promise<void> {
    const metadata = await this.metadata();
    const issuer = response.get("iss");
    const isRequired =
      metadata["authorization_response_iss_parameter_supported"] === true;
    if (issuer === undefined ? !isRequired : issuer === this.#options.issuer) {
      return;
    }
    throw new OAuthError(
      "access_denied",
      "the response is not from the identity provider",
      'parameter "iss" is missing or names another issuer',
    );
  }

  /** Redeems the provider's code. @throws {OAuthError} */
  async exchange(
    { code, verifier, callback }: {
      readonly code: string;
      readonly verifier: string;
      readonly callback: string;
    },
    cancellation: Cancellation,
  ): Promise<ProviderTokens> {
    return await this.#requestTokens({
      grant_type: "authorization_code",
      code,
      redirect_uri: callback,
      code_verifier: verifier,
      ...this.#options.parameters,
    }, cancellation);
  }

  /** Gets new tokens for a refresh token. @throws {OAuthError} */
  async refresh(
    refreshToken: string,
    scope: string | undefined,
    cancellation: Cancellation,
  ): Promise<ProviderTokens> {
    return await this.#requestTokens({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      ...(scope !== undefined && { scope }),
      ...this.#options.parameters,
    }, cancellation);
  }

  /** Revokes a refresh token if the provider supports it (RFC 7009). @throws {OAuthError} */
  async revoke(
    refreshToken: string,
    cancellation: Cancellation,
  ): Promise<void> {
    const metadata = await this.metadata();
    if (stringMember(metadata, "revocation_endpoint") === undefined) return;
    const { status } = await this.#post(
      metadata,
      "revocation_endpoint",
      { token: refreshToken, token_type_hint: "refresh_token" },
      cancellation,
    );
    if (status >= 500) throw unavailable(`status ${status}`);
  }

  async #requestTokens(
    form: Readonly<Record<string, string>>,
    cancellation: Cancellation,
  ): Promise<ProviderTokens> {
    const { status, text } = await this.#post(
      await this.metadata(),
      "token_endpoint",
      form,
      cancellation,
    );
    const document = parseJson(text);
    if (!isJsonObject(document)) {
      throw unavailable(`expected a JSON object, got status ${status}`);
    }
    if (status !== 200) throw tokenError(status, document);
    return readTokens(document, this.#options.token);
  }

  async #post(
    metadata: JsonObject,
    endpoint: string,
    form: Readonly<Record<string, string>>,
    cancellation: Cancellation,
  ) {
    const { addressOf, clock, egress } = this.#options;
    const { authorization, fields } = this.#credentials(metadata);
    if (this.#calls >= MAX_CALLS) {
      throw new OAuthError(
        "temporarily_unavailable",
        "too many concurrent logins",
        undefined,
        1,
      );
    }
    this.#calls++;
    try {
      return await fetchDocument(
        addressOf(endpointOf(metadata, endpoint).href),
        {
          clock,
          egress,
          cancellation,
          contentType: "application/x-www-form-urlencoded",
          authorization,
          body: new URLSearchParams({ ...form, ...fields }).toString(),
        },
      );
    } catch (error) {
      throw unavailable(describeError(error));
    } finally {
      this.#calls--;
    }
  }

  /** Returns the credentials in the form that the provider's metadata lists; Basic by default (RFC 6749 section 2.3.1). */
  #credentials(metadata: JsonObject): {
    readonly authorization: string | undefined;
    readonly fields: Readonly<Record<string, string>>;
  } {
    const { clientId, clientSecret } = this.#options;
    const fields = { client_id: clientId };
    if (clientSecret === undefined) return { authorization: undefined, fields };
    const methods = metadata["token_endpoint_auth_methods_supported"];
    const acceptsBasic = !Array.isArray(methods) ||
      methods.includes("client_secret_basic");
    if (!acceptsBasic) {
      return {
        authorization: undefined,
        fields: { ...fields, client_secret: clientSecret },
      };
    }
    return {
      authorization: basicCredentials(clientId, clientSecret),
      fields: {},
    };
  }
}

function endpointOf(metadata: JsonObject, name: string): URL {
  const url = URL.parse(stringMember(metadata, name) ?? "");
  const issuer = URL.parse(stringMember(metadata, "issuer") ?? "");
  // Metadata of an HTTPS issuer must not make the gateway send codes and secrets in plain text.
  if (url !== null && ["https:", issuer?.protocol].includes(url.protocol)) {
    return url;
  }
  throw misconfigured(`"${name}" of its metadata is not an HTTPS URL`);
}
