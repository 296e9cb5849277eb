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

/** What an MCP client has to remember while it logs in; both generations of the SDK take it. */
export class MemoryOAuthProvider {
  readonly redirectUrl = "http://127.0.0.1:1/callback";
  readonly clientMetadata: ClientMetadata = {
    client_name: "Test client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  /** Of its client-ID metadata document. */
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

  /** Where the client sent its user. */
  get authorizationUrl(): URL {
    assert(this.#authorizationUrl, "nobody was sent to log in");
    return this.#authorizationUrl;
  }

  /** A client registered beforehand belongs to whatever server the client finds. */
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
