import assert from "node:assert/strict";
import {
  conditionNo,
  conditionYes,
} from "../../../src/compile/outcomes/conditions.ts";
import {
  keyProblemsOf,
  withKeyProblems,
} from "../../../src/cluster/status/key_problems.ts";

const ISSUER = "https://idp.example";
const policy = {
  metadata: { namespace: "blue", name: "p" },
  spec: { traffic: { jwtAuthentication: { providers: [{ issuer: ISSUER }] } } },
};
const fine = [conditionYes("Accepted"), conditionYes("Attached")];

Deno.test("a policy whose keys cannot be had is accepted and not attached, and names the cause", () => {
  const problems = keyProblemsOf([
    {
      issuers: [ISSUER],
      policies: ["blue/p"],
      fetchedAt: null,
      lastError: "connection refused",
    },
  ]);
  const message =
    `The keys of issuer "${ISSUER}" are not available, so its tokens get 503: connection refused`;
  assert.deepEqual(withKeyProblems(fine, policy, problems), [
    { type: "Accepted", status: true, reason: "PartiallyValid", message },
    conditionNo("Attached", "Pending", message),
  ]);
});

Deno.test("keys that are there, or were once, are no problem", () => {
  const problems = keyProblemsOf([
    { issuers: [ISSUER], fetchedAt: "2026-01-01", lastError: "late" },
    { issuers: ["https://other"], fetchedAt: null, lastError: null },
  ]);
  assert.equal(problems.size, 0);
  assert.equal(withKeyProblems(fine, policy, problems), fine);
});

Deno.test("keys of another namespace's policy for the same issuer are not this one's problem", () => {
  const problems = keyProblemsOf([{
    issuers: [ISSUER],
    policies: ["red/p"],
    fetchedAt: null,
    lastError: "connection refused",
  }, {
    issuers: [ISSUER],
    policies: ["blue/p"],
    fetchedAt: "2026-01-01",
    lastError: null,
  }]);

  assert.equal(withKeyProblems(fine, policy, problems), fine);
});
