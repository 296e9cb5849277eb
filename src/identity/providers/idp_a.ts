import { stringMember } from "../../base/json.ts";
import {
  appendedMetadataUrl,
  insertedMetadataUrl,
  withQueryParameter,
} from "./provider_urls.ts";
import type { ProviderAdapter } from "./provider.ts";

/**
 * A provider with tenants and without resource indicators (RFC 8707): its access tokens are opaque unless the authorization
 * request has an `audience`.
 */
export const idpA: ProviderAdapter = {
  names: ["IdpA", "Auth0"],
  issuerProblem: (issuer) =>
    issuer.endsWith("/") ? undefined : 'expected a trailing "/"',
  defaultIssuerMode: "Gateway",
  audienceParameter: "audience",
  metadataUrls: (issuer) => [
    insertedMetadataUrl(issuer),
    appendedMetadataUrl(issuer),
  ],
  adaptMetadata(metadata, { audience }) {
    const endpoint = stringMember(metadata, "authorization_endpoint");
    if (endpoint === undefined || audience === undefined) return metadata;
    return {
      ...metadata,
      authorization_endpoint: withQueryParameter(
        endpoint,
        "audience",
        audience,
      ),
    };
  },
  registersAtGateway: false,
  registrationUrl: () => undefined,
};
