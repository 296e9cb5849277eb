import assert from "node:assert/strict";
import { parseChallenges } from "../../../../src/http/challenges.ts";
import {
  wantsNonce,
  wantsProof,
} from "../../../../src/identity/backend_tokens/proof_key.ts";

Deno.test("a service wants proofs if its challenges accept nothing else, whatever they quote", () => {
  const cases: readonly (readonly [string, boolean, boolean])[] = [
    ["DPoP", true, false],
    ['DPoP realm="a, Bearer b"', true, false],
    ["Bearer, DPoP algs=ES256", false, false],
    ['Basic realm="a, DPoP b"', false, false],
    ["Basic realm='a', dpop=\"x\"", false, false],
    ['DPoP error="use_dpop_nonce"', true, true],
    ['DPoP error_description="error=use_dpop_nonce", error=other', true, false],
  ];
  for (const [field, proof, nonce] of cases) {
    const challenges = parseChallenges(field);

    assert.deepEqual(
      [wantsProof(challenges), wantsNonce(challenges)],
      [proof, nonce],
      field,
    );
  }
});
