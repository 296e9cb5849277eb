import assert from "node:assert/strict";
import { editDistance, nearest } from "../../../src/api/suggest.ts";

const fields = [
  "gateways",
  "hostnames",
  "matches",
  "filters",
  "backends",
  "PathPrefix",
];

for (
  const [word, expected] of [
    ["gateway", "gateways"],
    ["macthes", "matches"],
    ["Hostnames", "hostnames"],
    ["prefix", "PathPrefix"],
    ["zzz", undefined],
    ["", undefined],
    ["a".repeat(10_000), undefined],
  ] as const
) {
  Deno.test(`nearest suggests ${expected} for ${word.slice(0, 20)}`, () => {
    assert.equal(nearest(word, fields), expected);
  });
}

for (
  const [word, candidates, expected] of [
    ["jwt", ["cors", "jwtAuthentication"], "jwtAuthentication"],
    ["policy", ["policies", "name"], "policies"],
    ["req", ["requestHeaderModifier", "requestRedirect"], undefined],
    ["rt", ["retryAfterSeconds"], undefined],
  ] as const
) {
  Deno.test(`nearest takes ${word} for the beginning of ${expected}`, () => {
    assert.equal(nearest(word, candidates), expected);
  });
}

Deno.test("editDistance counts a swap of neighbours as one", () => {
  assert.equal(editDistance("prot", "port"), 1);
});
