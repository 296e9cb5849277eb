import type { JsonObject } from "../../base/json.ts";

/** Settings of an identity provider. */
export interface ProviderSettings {
  /** Issuer URL such as `https://tenant.example.com/`. */
  readonly issuer: string;
  /** The first of the audiences. */
  readonly audience: string | undefined;
}

/** Facts of a provider whose access tokens are opaque: clients get its ID tokens, which are JWTs for the gateway's client. */
export interface LoginFacts {
  readonly token: "id_token";
  /** Scopes of every login. */
  readonly scopes: readonly string[];
  /** Parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Adapts the gateway to an identity provider; one file each, listed in `adapters.ts`. */
export interface ProviderAdapter {
  /** Values of `mcp.provider` that select the adapter. */
  readonly names: readonly [string, ...string[]];
  /** Describes why an issuer URL cannot belong to this provider; `undefined` when it can. */
  issuerProblem(issuer: string): string | undefined;
  /** Issuer mode of configurations that set none. */
  readonly defaultIssuerMode: "Gateway" | "Upstream";
  /** Facts of logins that the gateway runs (issuer mode `Proxied`), where they differ. */
  readonly login?: LoginFacts;
  /**
   * Parameter by which a client requests tokens for an audience: `audience`, or `resource` (RFC 8707); `undefined` for providers
   * that decide by scopes or by the client's settings, and that may reject an unknown parameter.
   */
  readonly audienceParameter: "audience" | "resource" | undefined;
  /** Returns candidate URLs of the authorization server metadata in order of preference. */
  metadataUrls(issuer: string): readonly string[];
  /** Adapts the provider's metadata for MCP clients. */
  adaptMetadata(metadata: JsonObject, settings: ProviderSettings): JsonObject;
  /** Clients always register with the gateway. */
  readonly registersAtGateway: boolean;
  /** Returns the URL where the gateway registers clients if no client id is configured. */
  registrationUrl(issuer: string): string | undefined;
}
