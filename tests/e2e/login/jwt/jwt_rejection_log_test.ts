import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { guardedRoute } from "../../../harness/servers/guarded_server.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";

const issuer = await createTokenIssuer();

for (
  const [name, claims, log] of [
    [
      "audience",
      { aud: "https://hostile.example/\n" },
      String
        .raw`token audience is not accepted: has \"https://hostile.example/\\n\", expected \"https://gw.example/mcp\"`,
    ],
    [
      "issuer",
      { iss: "https://hostile.example/" },
      String
        .raw`token issuer is not accepted: has unverified issuer \"https://hostile.example/\", expected \"https://idp.example/\"`,
    ],
  ] as const
) {
  Deno.test(`the log shows the ${name} of a token that is not accepted, and the client does not see it`, async () => {
    await using gateway = await startTestGateway(
      guardedRoute({ host: "127.0.0.1:1" }, {
        issuer: issuer.issuer,
        jwks: { inline: jwksOf(issuer) },
      }),
    );

    const response = await fetch(`${gateway.origin}/mcp`, {
      headers: { authorization: `Bearer ${await issuer.sign(claims)}` },
    });
    const body = await response.text();
    await gateway.gateway.stop(0);

    assert.equal(response.status, 401);
    assert.match(body, new RegExp(`"token ${name} is not accepted"`));
    assert.doesNotMatch(body, /hostile/);
    assert.doesNotMatch(
      response.headers.get("www-authenticate") ?? "hostile",
      /hostile/,
    );
    assert(gateway.accessLog.join("").includes(`error="${log}"`), log);
  });
}
