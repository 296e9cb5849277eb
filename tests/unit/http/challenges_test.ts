import assert from "node:assert/strict";
import { parameterOf, parseChallenges } from "../../../src/http/challenges.ts";

const cases: Readonly<
  Record<string, readonly (readonly [string, Record<string, string>])[]>
> = {
  "": [],
  "DPoP": [["dpop", {}]],
  "Bearer realm=a, DPoP": [["bearer", { realm: "a" }], ["dpop", {}]],
  'Bearer realm="a, DPoP b", error=invalid_token': [
    ["bearer", { realm: "a, DPoP b", error: "invalid_token" }],
  ],
  'Bearer realm="say \\"x\\\\\\", DPoP"': [
    ["bearer", { realm: 'say "x\\", DPoP' }],
  ],
  // Some servers leave out commas.
  'dpop algs = "ES256 RS256" Error="use_dpop_nonce"': [
    ["dpop", { algs: "ES256 RS256", error: "use_dpop_nonce" }],
  ],
  "Negotiate DPoP, Basic realm=x": [
    ["negotiate", {}],
    ["basic", { realm: "x" }],
  ],
  "Negotiate YWJjZA==, Basic realm=x": [
    ["negotiate", {}],
    ["basic", { realm: "x" }],
  ],
  // The first counts.
  'Bearer scope="a", scope="b"': [["bearer", { scope: "a" }]],
  'Bearer realm="open, DPoP': [["bearer", {}]],
  'realm="no scheme", , Bearer': [["bearer", {}]],
};

Deno.test("challenges are read as their grammar says, whatever their parameters quote", () => {
  for (const [field, expected] of Object.entries(cases)) {
    const read = parseChallenges(field).map(({ scheme, parameters }) => [
      scheme,
      Object.fromEntries(parameters),
    ]);

    assert.deepEqual(read, expected, field);
  }
});

Deno.test("a parameter that is empty or too long is none", () => {
  const read = parseChallenges('Bearer, DPoP scope="", error=abcd');

  assert.equal(parameterOf(read, "scope"), undefined);
  assert.equal(parameterOf(read, "error", 4), "abcd");
  assert.equal(parameterOf(read, "error", 3), undefined);
});
