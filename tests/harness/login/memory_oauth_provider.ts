import assert from "node:assert/strict";

interface ClientMetadata {
  readonly client_name: string;
  readonly redirect_uris: string[];
  readonly grant_types: string[];
  readonly response_types: string[];
  readonly token_endpoint_auth_method: string;
  scope?: string;
}

interface ClientInformation {
  readonly client_id: string;
  readonly issuer?: string;
}

interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
}

interface Discovery {
  readonly authorizationServerUrl: string;
}

/** Keeps the state of an MCP client's login; both generations of the SDK accept it. */
export class MemoryOAuthProvider {
  readonly redirectUrl = "http://127.0.0.1:1/callback";
  readonly clientMetadata: ClientMetadata = {
    client_name: "Test client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  /** The URL of its client ID metadata document. */
  readonly clientMetadataUrl?: string;
  #client: ClientInformation | undefined;
  #tokens: Tokens | undefined;
  #verifier = "";
  #authorizationUrl: URL | undefined;
  #discovery: Discovery | undefined;

  constructor(
    { clientId, clientMetadataUrl, scope }: {
      readonly clientId?: string;
      readonly clientMetadataUrl?: string;
      readonly scope?: string;
    },
  ) {
    if (clientMetadataUrl !== undefined) {
      this.clientMetadataUrl = clientMetadataUrl;
    }
    if (clientId !== undefined) this.#client = { client_id: clientId };
    if (scope !== undefined) this.clientMetadata.scope = scope;
  }

  /** Returns the authorization URL that the client opened. */
  get authorizationUrl(): URL {
    assert(this.#authorizationUrl, "the client opened no authorization URL");
    return this.#authorizationUrl;
  }

  /** A preregistered client is used at any server that the client discovers. */
  clientInformation(
    context?: { readonly issuer: string },
  ): ClientInformation | undefined {
    return this.#client && { ...context, ...this.#client };
  }

  saveClientInformation(client: ClientInformation): void {
    this.#client = client;
  }

  tokens(): Tokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: Tokens): void {
    this.#tokens = tokens;
  }

  /** Makes the access token one that no server accepts. */
  expireToken(): void {
    assert(this.#tokens, "the client has no token");
    this.#tokens = { ...this.#tokens, access_token: "expired" };
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  redirectToAuthorization(url: URL): void {
    this.#authorizationUrl = url;
  }

  discoveryState(): Discovery | undefined {
    return this.#discovery;
  }

  saveDiscoveryState(discovery: Discovery): void {
    this.#discovery = discovery;
  }
}
