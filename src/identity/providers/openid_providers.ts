import type { LoginFacts, ProviderAdapter } from "./provider.ts";
import { appendedMetadataUrl, insertedMetadataUrl } from "./provider_urls.ts";

/** Facts in which providers of OpenID Connect differ. */
interface OpenIdFacts {
  readonly name: string;
  /** Form of the issuer's path. */
  readonly issuerPath: RegExp;
  /** An issuer path of that form, for the message. */
  readonly example: string;
  readonly login?: LoginFacts;
}

/**
 * Providers that follow OpenID Connect and let clients see their own metadata. They take the audience from scopes or from the
 * client's settings: Entra rejects a request with `resource`, the others ignore it.
 */
const facts: readonly OpenIdFacts[] = [
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
  {
    name: "Google",
    issuerPath: /^\/$/,
    example: "https://accounts.google.com",
    login: {
      token: "id_token",
      scopes: ["openid", "email"],
      // Google issues refresh tokens only with these (https://developers.google.com/identity/protocols/oauth2/web-server).
      parameters: { access_type: "offline", prompt: "consent" },
    },
  },
];

/** The adapters of these providers. */
export const openIdProviders: readonly ProviderAdapter[] = facts.map(
  createAdapter,
);

function createAdapter(
  { name, issuerPath, example, login }: OpenIdFacts,
): ProviderAdapter {
  return {
    names: [name],
    issuerProblem: (issuer) =>
      issuerPath.test(new URL(issuer).pathname)
        ? undefined
        : `expected ${
          example.startsWith("/") ? "a path such as " : ""
        }"${example}"`,
    ...(login !== undefined && { login }),
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
