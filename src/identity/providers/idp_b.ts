import { appendedMetadataUrl } from "./provider_urls.ts";
import type { ProviderAdapter } from "./provider.ts";

/**
 * A provider with an issuer per MCP server, such as `https://api.example.com/v1/apps/agentic/<project>/<server>`, and keys per
 * project. It supports resource indicators. Its client registration requires a management key and does not allow cross-origin
 * requests.
 */
export const idpB: ProviderAdapter = {
  names: ["IdpB", "Descope"],
  issuerProblem: (issuer) =>
    readAgenticIssuer(issuer) === undefined
      ? 'expected a path such as "/v1/apps/agentic/PROJECT/SERVER"'
      : undefined,
  defaultIssuerMode: "Gateway",
  audienceParameter: "resource",
  metadataUrls: (issuer) => [appendedMetadataUrl(issuer)],
  adaptMetadata(metadata, { issuer }) {
    const agentic = readAgenticIssuer(issuer);
    if (agentic === undefined) return metadata;
    const { origin, project } = agentic;
    return {
      ...metadata,
      jwks_uri: `${origin}/${project}/.well-known/jwks.json`,
    };
  },
  registersAtGateway: true,
  registrationUrl(issuer) {
    const agentic = readAgenticIssuer(issuer);
    if (agentic === undefined) return undefined;
    const { origin, project, server } = agentic;
    return `${origin}/v1/mgmt/mcp/client/${project}/${server}/register`;
  },
};

function readAgenticIssuer(issuer: string) {
  const { origin, pathname } = new URL(issuer);
  const [, project, server] =
    /^\/v1\/apps\/agentic\/([^/]+)\/([^/]+)\/?$/.exec(pathname) ?? [];
  return project === undefined || server === undefined
    ? undefined
    : { origin, project, server };
}
