/** URL of authorization-server metadata: the well-known part goes before the issuer's path (RFC 8414 section 3.1). */
export function insertedMetadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/oauth-authorization-server${trimmed(pathname)}`;
}

/** URL of OpenID Connect discovery: the well-known part goes after the issuer (OpenID Connect Discovery section 4). */
export function appendedMetadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}${trimmed(pathname)}/.well-known/openid-configuration`;
}

function trimmed(path: string): string {
  return path.replace(/\/$/, "");
}
