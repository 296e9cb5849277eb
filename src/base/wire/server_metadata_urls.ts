/**
 * Returns the URLs of an authorization server's metadata in the order in which MCP clients try them (MCP authorization, authorization
 * server metadata discovery).
 */
export function serverMetadataUrls({ origin, pathname }: URL): string[] {
  const path = pathname.replace(/\/$/, "");
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
}
