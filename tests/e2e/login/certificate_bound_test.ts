import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  createAuthority,
  type KeyPair,
} from "../../harness/login/certificates.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const authority = await createAuthority();
const server = await authority.issueServer(["localhost"]);
const alice = await authority.issueClient("alice");
const bob = await authority.issueClient("bob");

/** Value of `x5t#S256` for a certificate. */
function thumbprintOf({ cert }: KeyPair): string {
  return Uint8Array.fromHex(
    new X509Certificate(cert).fingerprint256.replaceAll(":", ""),
  ).toBase64({ alphabet: "base64url", omitPadding: true });
}

for (const http2 of [false, true]) {
  Deno.test(`a token that is bound to a certificate is for its client alone, over HTTP/${http2 ? 2 : 1}`, async () => {
    const idp = await createTokenIssuer();
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: idp.issuer,
              audiences: ["https://gw.example/mcp"],
              jwks: { inline: jwksOf(idp) },
            }],
          },
          authorization: {
            policy: { matchExpressions: ["jwt.sub == 'user'"] },
          },
          directResponse: { status: 200 },
        },
      }],
    }, {
      protocol: "HTTPS",
      tls: {
        ...server,
        clientCa: authority.cert,
        clientCertificate: "Request",
      },
    });
    const send = async (token: string, own?: KeyPair) => {
      using client = Deno.createHttpClient({
        caCerts: [authority.cert],
        http1: !http2,
        http2,
        ...own,
      });
      const response = await fetch(`https://localhost:${gateway.port}/`, {
        client,
        headers: { authorization: `Bearer ${token}` },
      });
      await response.body?.cancel();
      return response.status;
    };
    const token = await idp.sign({
      cnf: { "x5t#S256": thumbprintOf(alice) },
    });

    assert.equal(await send(token, alice), 200);
    assert.equal(await send(token, bob), 401);
    assert.equal(await send(token), 401);
    assert.equal(await send(await idp.sign(), bob), 200);
    const odd = await idp.sign({ cnf: { "x5t#S256": 5 } });
    assert.equal(await send(odd, alice), 401);
  });
}
