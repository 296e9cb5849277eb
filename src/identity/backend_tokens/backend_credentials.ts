/** Credentials of the gateway at a backend, as compiled: a key, or how it gets tokens. */
export type BackendCredentials = BackendKey | TokenCredentials | UserLogin;

/** A key that is the same for all requests. */
export interface BackendKey {
  readonly kind: "key";
  readonly token: string;
}

/** Tokens for a backend. */
export type TokenCredentials = GrantCredentials | CloudCredentials;

/** Tokens of an authorization server: the client that requests them, and the grant. */
export type GrantCredentials =
  & TokenClient
  & (ClientCredentials | TokenExchange | JwtBearer | IdentityAssertion);

/** Tokens of a cloud, for an identity that the gateway has there. */
export type CloudCredentials =
  & Pick<TokenClient, "fingerprint" | "backend">
  & (AwsIdentity | GoogleIdentity | AzureIdentity);

/** Reports whether tokens are those of an identity of a cloud. */
export function isCloudIdentity(
  credentials: TokenCredentials,
): credentials is CloudCredentials {
  return !("server" in credentials);
}

/** The client that the gateway is at an authorization server, and what it asks for. */
export interface TokenClient {
  /** Digest of the backend and of all that is configured, secrets included: tokens are never used after a change. */
  readonly fingerprint: string;
  /** Key of the backend, such as `default/crm`, for messages. */
  readonly backend: string;
  /** URL of the issuer, or of the token endpoint. */
  readonly server: {
    readonly kind: "issuer" | "tokenEndpoint";
    readonly url: string;
  };
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** PEM; `undefined` for the CAs of the system. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Set if tokens have to be bound to a key of the gateway (DPoP, RFC 9449); otherwise if the backend wants that. */
  readonly requiresProof?: true;
  /** Scope, resource, audience and what else every token request has. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Authentication of a client at the token endpoint. */
export type ClientAuthentication =
  | { readonly method: "none" }
  | {
    readonly method: "secret";
    readonly secret: string;
    /** `undefined`: what the metadata of the server lists. */
    readonly place: "Basic" | "Post" | undefined;
  }
  | {
    readonly method: "privateKey";
    /** PKCS #8, PEM. */
    readonly pem: string;
    readonly algorithm: string;
    readonly keyId: string | undefined;
  };

/** Tokens of the gateway itself (RFC 6749 section 4.4). */
export interface ClientCredentials {
  readonly kind: "clientCredentials";
}

/** Tokens in exchange for that of the caller (RFC 8693). */
export interface TokenExchange {
  readonly kind: "tokenExchange";
  /** URI of the type of the caller's token. */
  readonly subjectTokenType: string;
  /** Set for delegation; `file` has the token of the actor, which the client gets for itself without one. */
  readonly actor: { readonly file: string | undefined } | undefined;
}

/** Tokens for an assertion (RFC 7523 section 2.1). */
export interface JwtBearer {
  readonly kind: "jwtBearer";
  /** File with the assertion; `undefined` for the token of the caller. */
  readonly file: string | undefined;
}

/** Tokens for an assertion about the caller (draft-ietf-oauth-identity-assertion-authz-grant). */
export interface IdentityAssertion {
  readonly kind: "identityAssertion";
  /** The client at the identity provider, which issues the assertion. */
  readonly identityProvider: TokenClient;
  /** URI of the type of the caller's token. */
  readonly subjectTokenType: string;
}

/** An identity of AWS. Its token is the JSON of an access key, as `aws configure export-credentials` has it. */
export interface AwsIdentity {
  readonly kind: "aws";
  /** `undefined` for the chain of the environment. */
  readonly profile: string | undefined;
  readonly assumeRole: {
    readonly roleArn: string;
    readonly sessionName: string;
    readonly externalId: string | undefined;
  } | undefined;
  /** Of signatures. */
  readonly service: string;
  readonly region: string;
}

/** An identity of Google Cloud. */
export interface GoogleIdentity {
  readonly kind: "google";
  /** `undefined` for the application default credentials. */
  readonly file: string | undefined;
  /** Email address of the service account that the identity acts as. */
  readonly impersonate: string | undefined;
  readonly scopes: readonly string[];
}

/** An identity of Microsoft Entra. */
export interface AzureIdentity {
  readonly kind: "azure";
  readonly tenantId: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scope: string;
}

/** A token of a cloud. */
export interface CloudToken {
  readonly token: string;
  /** Milliseconds since the epoch; `undefined` for one that does not expire. */
  readonly expiresAt: number | undefined;
}

/** Tokens that a user gets for a backend by a login there, as compiled. */
export interface UserLogin {
  readonly kind: "oauth";
  /** Digest of the resource, the issuer and the client: connections are never used after a change of these. */
  readonly fingerprint: string;
  /** Key of the backend or the MCP server, such as `default/tools#crm`. */
  readonly backend: string;
  /** URL of the service, as its metadata (RFC 9728) names it. */
  readonly resource: string;
  /** Authorization server; `undefined` for that of the metadata of the service. */
  readonly issuer: string | undefined;
  /** Endpoints of a server without metadata. */
  readonly endpoints: ServerEndpoints | undefined;
  /** The client of the gateway there; `undefined` to identify by a document or to register. */
  readonly client: LoginClient | undefined;
  /** PEM; `undefined` for the CAs of the system. */
  readonly caCertificates: readonly string[] | undefined;
  /** Set if tokens have to be bound to a key of the gateway (DPoP, RFC 9449); otherwise if the service wants that. */
  readonly requiresProof?: true;
  /** `undefined` for those that the service asks for. */
  readonly scopes: readonly string[] | undefined;
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Endpoints of an authorization server, in place of its metadata. */
export interface ServerEndpoints {
  readonly authorization: string;
  readonly token: string;
  readonly revocation: string | undefined;
}

/** A client at an authorization server. */
export interface LoginClient {
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
}

/** The user on whose behalf a request is sent, as a verified token says. */
export interface Caller {
  readonly issuer: string;
  /** Claim `sub`; not empty. Only together with the issuer it names a user. */
  readonly subject: string;
  /** The verified token. */
  readonly token: string;
  /** Digest of the claims that do not change when a token is renewed: a token with fewer rights never shares with one that has more. */
  readonly rights: string;
}

/** Reports whether a backend sees who the caller is: nothing that it says to one caller is for another. */
export function isPerCaller(
  credentials: BackendCredentials | undefined,
): credentials is
  | UserLogin
  | TokenClient & (TokenExchange | JwtBearer | IdentityAssertion) {
  return credentials?.kind === "tokenExchange" ||
    credentials?.kind === "identityAssertion" ||
    credentials?.kind === "oauth" ||
    credentials?.kind === "jwtBearer" && credentials.file === undefined;
}
