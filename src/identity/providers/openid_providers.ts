import type { ProviderAdapter } from "./provider.ts";
import { appendedMetadataUrl, insertedMetadataUrl } from "./provider_urls.ts";

/** Facts in which providers of OpenID Connect differ. */
interface OpenIdFacts {
  readonly name: string;
  /** Form of the issuer's path. */
  readonly issuerPath: RegExp;
  /** An issuer path of that form, for the message. */
  readonly example: string;
}

/**
 * Providers that follow OpenID Connect and let clients see their own metadata. They take the audience from scopes or from the
 * client's settings: Entra rejects a request with `resource`, the others ignore it.
 */
export const openIdProviders: readonly ProviderAdapter[] = [
  {
    name: "Keycloak",
    issuerPath: /\/realms\/[^/]+$/,
    example: "/realms/REALM",
  },
  {
    name: "Okta",
    issuerPath: /^\/oauth2\/[^/]+$/,
    example: "/oauth2/default",
  },
  {
    name: "Entra",
    issuerPath: /^\/[^/]+\/v2\.0$/,
    example: "/TENANT/v2.0",
  },
  {
    name: "Authentik",
    issuerPath: /\/application\/o\/[^/]+\/$/,
    example: "/application/o/APPLICATION/",
  },
].map(createAdapter);

function createAdapter(
  { name, issuerPath, example }: OpenIdFacts,
): ProviderAdapter {
  return {
    names: [name],
    issuerProblem: (issuer) =>
      issuerPath.test(new URL(issuer).pathname)
        ? undefined
        : `expected a path such as "${example}"`,
    defaultIssuerMode: "Upstream",
    audienceParameter: undefined,
    metadataUrls: (issuer) => [
      appendedMetadataUrl(issuer),
      insertedMetadataUrl(issuer),
    ],
    adaptMetadata: (metadata) => metadata,
    registersAtGateway: false,
    registrationUrl: () => undefined,
  };
}
