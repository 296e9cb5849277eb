import { stringMember } from "../../base/json.ts";
import { appendedMetadataUrl, insertedMetadataUrl } from "./metadata_url.ts";
import type { ProviderAdapter } from "./provider.ts";
import { withQueryParameter } from "./add_query_parameter.ts";

/**
 * A provider with tenants and without resource indicators (RFC 8707): unless it is asked for an `audience`,
 * its access tokens are opaque.
 */
export const idpA: ProviderAdapter = {
  names: ["IdpA", "Auth0"],
  issuerProblem: (issuer) =>
    issuer.endsWith("/") ? undefined : 'expected "/" at its end',
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
