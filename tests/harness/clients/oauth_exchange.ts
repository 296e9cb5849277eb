import assert from "node:assert/strict";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { logIn } from "../browser/browser_user.ts";

/** Logs in with code and PKCE as the preregistered client; returns the token endpoint's JSON. */
export async function requestUserToken(
  idp: Idp,
  parameters: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const metadata = await readMetadata(idp);
  const verifier = crypto.randomUUID() + crypto.randomUUID();
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(verifier),
  );
  const redirect = "http://127.0.0.1:1/callback";
  const url = new URL(String(metadata.authorization_endpoint));
  const request = {
    client_id: idp.clientId,
    response_type: "code",
    redirect_uri: redirect,
    code_challenge_method: "S256",
    code_challenge: new Uint8Array(digest).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    }),
    ...parameters,
  };
  for (const [name, value] of Object.entries(request)) {
    url.searchParams.set(name, value);
  }
  const callback = await logIn(url);
  const code = callback.searchParams.get("code");
  assert(code !== null, `no code in ${callback}`);
  const response = await fetch(String(metadata.token_endpoint), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: idp.clientId,
      redirect_uri: redirect,
      code_verifier: verifier,
      code,
      ...(parameters.resource && { resource: parameters.resource }),
    }),
  });
  return await response.json();
}

/** Reads the provider's own metadata. */
export async function readMetadata(
  { issuer }: Idp,
): Promise<Record<string, unknown>> {
  const base = issuer.replace(/\/$/, "");
  const response = await fetch(`${base}/.well-known/openid-configuration`);
  return await response.json();
}

/** Decodes the claims of a token without verifying its signature. */
export function decodeClaims(token: unknown): Record<string, unknown> {
  const [, claims = ""] = String(token).split(".");
  return JSON.parse(
    new TextDecoder().decode(
      Uint8Array.fromBase64(claims, { alphabet: "base64url" }),
    ),
  );
}
