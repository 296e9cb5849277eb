import assert from "node:assert/strict";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { noDocumentCache } from "../../../../src/identity/documents/document_cache.ts";
import { IdentityStore } from "../../../../src/identity/identity_store.ts";
import { createJwtAuthentication } from "../../../../src/policy/login/jwt_policy.ts";
import { noopServices } from "../../../../src/policy/noop_services.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";
import { context } from "../exchange.ts";

/** A policy whose identity provider accepts connections and never answers. */
function setUp() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const origin = `http://127.0.0.1:${listener.addr.port}`;
  const clock = new FakeClock();
  const { log } = noopServices();
  const identity = new IdentityStore({
    clock,
    log,
    egress: openEgress,
    cache: noDocumentCache,
  });
  const policy = createJwtAuthentication({
    mode: "Permissive",
    clockSkew: "60s",
    providers: [{
      issuer: `${origin}/`,
      jwks: { url: `${origin}/keys` },
    }],
    mcp: { provider: "IdpA", forwardToken: false },
  }, {
    owner: "default/policy",
    listenerPort: 80,
    readFile: () => "",
    hide: (text) => text,
    connectionOf: () => undefined,
    readSecret: () => "",
    services: { ...noopServices({ identity: identity.lease() }), clock },
  });
  return { policy, listener, identity, issuer: `${origin}/` };
}

const metadata = "/.well-known/oauth-authorization-server/mcp";
for (const [what, target] of [["keys", "/mcp"], ["metadata", metadata]]) {
  Deno.test(`a request that waits for ${what} ends when it is cut off, and is not let through`, async () => {
    const { policy, listener, identity, issuer } = setUp();
    const token = await (await createTokenIssuer({ issuer })).sign();
    const on = context({
      target: target ?? "",
      headers: { authorization: `Bearer ${token}` },
    });
    const verdict = Promise.resolve(policy.onRequest?.(on));
    const ended = assert.rejects(verdict, { message: "cut off" });
    const connection = await listener.accept();

    on.request.cancellation.cancel(new Error("cut off"));

    await ended;
    await identity.close();
    connection.close();
    listener.close();
  });
}
