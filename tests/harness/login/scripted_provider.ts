import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { freePort } from "../process/free_port.ts";
import { createTokenIssuer, jwksOf, type TokenIssuer } from "./tokens.ts";

/** A provider of OpenID Connect that issues the ID tokens that a test wants. */
export interface ScriptedProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly signer: TokenIssuer;
  /** Claims of the next ID token, in place of the usual ones; the nonce is that of the last login. */
  claims: Readonly<Record<string, unknown>>;
  /** Members of the next token response. */
  response: Readonly<Record<string, unknown>>;
}

/** Starts a provider that logs everybody in as `ada` without a page. */
export async function startScriptedProvider(
  clientId: string,
): Promise<ScriptedProvider> {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const signer = await createTokenIssuer({ issuer, alg: "ES256" });
  let nonce = "";
  const provider = {
    issuer,
    signer,
    claims: {},
    response: {},
    [Symbol.asyncDispose]: async () => await server.close(),
  };
  const server = serveLoopback(port, async (request) => {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ["ES256"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/jwks":
        return new Response(jwksOf(signer), {
          headers: { "content-type": "application/json" },
        });
      case "/authorize": {
        nonce = url.searchParams.get("nonce") ?? "";
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        const state = url.searchParams.get("state") ?? "";
        for (const entry of Object.entries({ code: "c", state, iss: issuer })) {
          back.searchParams.set(...entry);
        }
        return Response.redirect(back, 303);
      }
      default:
        return Response.json({
          access_token: "access",
          token_type: "Bearer",
          id_token: await signer.sign({
            aud: clientId,
            sub: "ada",
            iat: Math.floor(Date.now() / 1000),
            nonce,
            ...provider.claims,
          }),
          ...provider.response,
        });
    }
  });
  return provider;
}
