import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { jwtClaims } from "../../../../src/policy/authentication/request_identity.ts";
import assert from "node:assert/strict";
import { noDocumentCache } from "../../../../src/identity/documents/document_cache.ts";
import { IdentityStore } from "../../../../src/identity/identity_store.ts";
import { createJwtAuthentication } from "../../../../src/policy/login/jwt_policy.ts";
import { noopServices } from "../../../../src/policy/noop_services.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../../../harness/login/tokens.ts";
import { context } from "../exchange.ts";

function createPolicy(issuer: TokenIssuer, mode: "Strict" | "Permissive") {
  const clock = new FakeClock();
  const { log } = noopServices();
  const identity = new IdentityStore({
    clock,
    log,
    egress: openEgress,
    cache: noDocumentCache,
  });
  return createJwtAuthentication({
    mode,
    clockSkew: "60s",
    providers: [{ issuer: issuer.issuer, jwks: { inline: jwksOf(issuer) } }],
  }, {
    owner: "default/policy",
    listenerPort: 80,
    readFile: () => "",
    hide: (text) => text,
    connectionOf: () => undefined,
    readSecret: () => "",
    services: { ...noopServices({ identity: identity.lease() }), clock },
  });
}

Deno.test("Permissive shows no claims of a token that it does not accept, also when an earlier policy accepted it", async () => {
  const now = new FakeClock().now();
  const one = await createTokenIssuer({ issuer: "https://one.example/", now });
  const other = await createTokenIssuer({
    issuer: "https://other.example/",
    now,
  });
  const token = await one.sign({ roles: ["admin"] });
  const on = context({ headers: { authorization: `Bearer ${token}` } });

  await createPolicy(one, "Strict").onRequest?.(on);
  assert.deepEqual(on.slots.get(jwtClaims)?.["roles"], ["admin"]);
  await createPolicy(other, "Permissive").onRequest?.(on);

  assert.equal(on.slots.get(jwtClaims), undefined);
});
