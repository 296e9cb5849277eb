import assert from "node:assert/strict";
import {
  createSuggest,
  editDistance,
  nearest,
} from "../../../../src/api/schema/suggest.ts";

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
  Deno.test(`nearest completes ${word} to ${expected}`, () => {
    assert.equal(nearest(word, candidates), expected);
  });
}

Deno.test("editDistance counts a swap of neighbors as one", () => {
  assert.equal(editDistance("prot", "port"), 1);
});

Deno.test("createSuggest stops after its budget of comparisons", () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `service-${index}`);
  const suggest = createSuggest();
  let listed = 0;

  const suggestions = names.map((name) =>
    suggest(`${name}x`, () => {
      listed++;
      return names;
    })
  );

  assert.equal(suggestions[0], "service-0");
  assert.equal(suggestions.at(-1), undefined);
  assert.equal(listed, 40);
});

Deno.test("createSuggest suggests for thousands of names when there are few candidates", () => {
  const suggest = createSuggest();

  for (let count = 0; count < 5_000; count++) {
    assert.equal(suggest("gateway", () => ["gateways"]), "gateways");
  }
});
