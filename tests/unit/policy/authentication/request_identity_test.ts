import assert from "node:assert/strict";
import {
  apiKeyIdentity,
  basicAuthUser,
  clientOf,
  distinctCaller,
  jwtClaims,
  setTokenClaims,
} from "../../../../src/policy/authentication/request_identity.ts";
import { Slots } from "../../../../src/policy/contract/slot.ts";

function nameOf(iss: string, sub: string, hasSeveralIssuers = true): string {
  const slots = new Slots();
  setTokenClaims(slots, { iss, sub }, hasSeveralIssuers);
  return clientOf(slots);
}

Deno.test("a client is named by its subject, and by issuer and subject on a route with several issuers", () => {
  assert.equal(nameOf("https://a.example/", "ann", false), "ann");
  assert.equal(nameOf("https://a.example/", "ann"), "https://a.example/#ann");
});

Deno.test("no two pairs of issuer and subject have the same name", () => {
  const names = [
    ["https://a.example/", "ann"],
    ["https://b.example/", "ann"],
    ["a", "b#c"],
    ["a#b", "c"],
    ["a%23b", "c"],
  ].map(([issuer = "", subject = ""]) => nameOf(issuer, subject));

  assert.equal(new Set(names).size, names.length);
});

Deno.test("a later policy with one issuer, and removed claims, leave no issuer behind", () => {
  const slots = new Slots();
  setTokenClaims(slots, { iss: "https://a.example/", sub: "ann" }, true);
  setTokenClaims(slots, { iss: "https://b.example/", sub: "bob" }, false);
  assert.equal(clientOf(slots), "bob");

  setTokenClaims(slots, undefined, true);
  assert.equal(slots.get(jwtClaims), undefined);
  assert.equal(clientOf(slots), "");
});

Deno.test("no two callers have the names of each other, whatever they log in with", () => {
  const withToken = (claims: Readonly<Record<string, unknown>>) => {
    const slots = new Slots();
    setTokenClaims(slots, claims, false);
    return slots;
  };
  const withKey = new Slots();
  withKey.set(apiKeyIdentity, "ann");
  const withPassword = new Slots();
  withPassword.set(basicAuthUser, { username: "ann" });
  const names = [
    new Slots(),
    withKey,
    withPassword,
    withToken({ sub: "ann" }),
    withToken({ iss: "https://a.example/", sub: "ann" }),
    withToken({ iss: "https://b.example/", sub: "ann" }),
    withToken({ iss: "https://a.example/", client_id: "one" }),
    withToken({ iss: "https://a.example/", client_id: "two" }),
    withToken({ iss: "https://a.example/", sub: "" }),
  ].map((slots) => JSON.stringify(distinctCaller(slots)));

  assert.equal(new Set(names).size, names.length);
});

Deno.test("a token that replaces another one is of the same caller, also without subject", () => {
  const nameAt = (iat: number) => {
    const slots = new Slots();
    const claims = { iss: "https://a.example/", client_id: "one" };
    setTokenClaims(slots, { ...claims, iat, jti: `${iat}` }, false);
    return distinctCaller(slots);
  };

  assert.deepEqual(nameAt(1), nameAt(2));
});
