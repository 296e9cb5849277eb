import assert from "node:assert/strict";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { addressOfUrl } from "../../../../src/identity/documents/document_client.ts";
import {
  noDocumentCache,
  type SharedDocuments,
} from "../../../../src/identity/documents/document_cache.ts";
import { DocumentUnavailableError } from "../../../../src/identity/documents/remote_document.ts";
import { IdentityStore } from "../../../../src/identity/identity_store.ts";
import { TokenError } from "../../../../src/identity/tokens/token.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";

const issuer = await createTokenIssuer({ now: new FakeClock().now() });

/** Returns a function that verifies a token with a key ID, and the count of the outcomes. */
function setUp(origin: string, shared?: SharedDocuments) {
  const clock = new FakeClock();
  const lease = new IdentityStore({
    clock,
    log: new RecordedLog(),
    egress: openEgress,
    cache: noDocumentCache,
    shared,
  }).lease();
  const address = addressOfUrl(`${origin}/jwks.json`);
  const verifier = lease.verifier({
    providers: [{
      issuer: issuer.issuer,
      audiences: undefined,
      keys: lease.keys({ kind: "remote", address }),
    }],
    clockSkewMs: 60_000,
    clock,
  });
  const outcomes = { accepted: 0, rejected: 0, failed: 0 };
  const verify = async (kid: string) => {
    const iat = Math.floor(clock.now() / 1000);
    const token = await issuer.sign({ iat, exp: iat + 300 }, { kid });
    try {
      await verifier.verify(token);
      outcomes.accepted++;
    } catch (error) {
      if (error instanceof TokenError) outcomes.rejected++;
      else if (error instanceof DocumentUnavailableError) outcomes.failed++;
      else throw error;
    }
  };
  return { clock, verify, outcomes };
}

Deno.test("of tokens with invented key IDs, a few fail for lack of newer keys, and the rest is rejected", async () => {
  await using idp = await IdentityServer.start();
  idp.keys = [issuer];
  const { clock, verify, outcomes } = setUp(idp.origin);
  await verify("invented");
  clock.advance(1000);

  for (let at = 0; at < 400; at++) await verify(`invented-${at}`);

  assert.deepEqual(outcomes, { accepted: 0, rejected: 369, failed: 32 });
  assert.equal(idp.keyRequests, 2);
  await verify("k1");
  assert.equal(outcomes.accepted, 1);
});

Deno.test("a bounded number of tokens with invented key IDs waits for newer keys", async () => {
  const newer = Promise.withResolvers<void>();
  let fetches = 0;
  const { clock, verify, outcomes } = setUp("http://idp.example", () => ({
    latest: () => Promise.resolve(undefined),
    async fresh() {
      if (++fetches > 1) await newer.promise;
      const text = jwksOf(issuer);
      return { text, fetchedAt: clock.now(), freshMs: Infinity };
    },
    release() {},
  }));
  await verify("k1");
  clock.advance(60_000);

  const all = Promise.all(
    Array.from({ length: 1000 }, (_, at) => verify(`invented-${at}`)),
  );
  while (outcomes.rejected < 1000 - 256) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  assert.equal(fetches, 2);
  newer.resolve();
  await all;

  assert.deepEqual(outcomes, { accepted: 1, rejected: 1000, failed: 0 });
});
