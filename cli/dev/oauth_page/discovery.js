/** Discovery by a client: the challenge, two metadata documents, and client registration. */
import { ExchangeError, send } from "/steps.js";

/** Reads the challenge, and the metadata of the MCP server that it links to (RFC 9728). */
export async function findResource({ url }, show) {
  const { headers } = await send(show, {
    title: "MCP without a token",
    note: "The 401 links to the metadata: resource_metadata.",
    expected: [401],
  }, {
    method: "POST",
    url,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
  });
  const challenge = headers.get("www-authenticate") ?? "";
  const [, metadataUrl] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  if (metadataUrl === undefined) {
    throw new ExchangeError(
      "The 401 has no resource_metadata that this page can read",
    );
  }
  const { body } = await send(show, {
    title: "Protected-resource metadata",
    note: "The resource, and the issuer of its tokens.",
    expected: [200],
  }, { url: metadataUrl });
  if (body.resource !== url) {
    throw new ExchangeError(
      `The metadata is for "${body.resource}", not for "${url}"`,
    );
  }
  return body;
}

/** Reads the metadata of the issuer, at the locations and in the order that MCP specifies. */
export async function findServer(issuer, show) {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  for (const url of urls) {
    const { status, body } = await send(show, {
      title: "Authorization-server metadata",
      note: `Endpoints of the issuer ${issuer}.`,
      expected: [200, 404],
    }, { url });
    if (status === 404) continue;
    if (body.issuer !== issuer) {
      throw new ExchangeError(
        `Issuer mismatch: the metadata has "${body.issuer}", expected "${issuer}"`,
      );
    }
    return body;
  }
  throw new ExchangeError(`No metadata found for the issuer "${issuer}"`);
}

export async function register(metadata, redirectUri, show) {
  const { body } = await send(show, {
    title: "Registration",
    note: "The gateway responds with the client of its configuration.",
    expected: [201],
  }, {
    method: "POST",
    url: metadata.registration_endpoint,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Page of the playground",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    }),
  });
  return body.client_id;
}
