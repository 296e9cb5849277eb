import assert from "node:assert/strict";
import { HeaderList } from "../../../src/http/header_list.ts";
import { freshnessOf } from "../../../src/identity/documents/freshness.ts";
import {
  candidateKeys,
  readKeySet,
} from "../../../src/identity/keys/key_set.ts";
import { adapterOf } from "../../../src/identity/providers/adapters.ts";
import { withQueryParameter } from "../../../src/identity/providers/provider_urls.ts";
import { TokenCache } from "../../../src/identity/tokens/token_cache.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

Deno.test("an unusable key is ignored individually", async () => {
  const { jwk } = await createTokenIssuer({ kid: "good" });
  const set = await readKeySet(JSON.stringify({
    keys: [
      { kty: "oct", k: "AA", kid: "a" },
      { ...jwk, use: "enc", kid: "b" },
      { ...jwk, kid: 1 },
      { ...jwk, d: "AA", kid: "c" },
      { ...jwk, crv: "secp256k1", kid: "d" },
      { kty: "RSA", n: "AQAB", e: "AQAB", kid: "f" },
      { ...jwk, alg: "RS256", kid: "g" },
      null,
      jwk,
    ],
  }));

  assert.deepEqual(set.keys.map(({ kid }) => kid), ["good"]);
  assert.equal(set.ignored.length, 8);
});

Deno.test("a set without usable keys, with too many keys, or not a set is an error", async () => {
  const many = JSON.stringify({ keys: Array(101).fill({}) });
  for (const text of ["{}", "[]", "{", '{"keys":[]}', '{"keys":{}}', many]) {
    await assert.rejects(readKeySet(text), Error, text);
  }
});

Deno.test("without kid a key is selected only if it is the only match", async () => {
  const [a, b] = [
    await createTokenIssuer(),
    await createTokenIssuer({ kid: "k2" }),
  ];
  const one = await readKeySet(JSON.stringify({ keys: [a.jwk] }));
  const two = await readKeySet(JSON.stringify({ keys: [a.jwk, b.jwk] }));

  assert.equal(candidateKeys(one, undefined, "ES256").length, 1);
  assert.equal(candidateKeys(two, undefined, "ES256").length, 0);
  assert.equal(candidateKeys(two, "k2", "ES256").length, 1);
  assert.equal(candidateKeys(two, "k2", "RS256").length, 0);
});

Deno.test("a million distinct tokens stay within the bounds of the cache", () => {
  const memory = new TokenCache({ tokens: 1000, characters: 5000 });
  for (let i = 0; i < 1_000_000; i++) {
    memory.add({ text: `token-${i}`, expiresAt: 10 });
  }

  assert(memory.size <= 1000);
  assert.equal(memory.get("token-999999", 0)?.text, "token-999999");
  assert.equal(memory.get("token-999999", 10), undefined);
  assert.equal(memory.get("token-0", 0), undefined);
});

Deno.test("freshnessOf uses Cache-Control, then Expires", () => {
  const of = (fields: Record<string, string>) =>
    freshnessOf(HeaderList.from(Object.entries(fields)), 0);

  assert.equal(of({}), undefined);
  assert.equal(of({ "cache-control": "public, max-age=90" }), 90_000);
  assert.equal(of({ "cache-control": "max-age=90", age: "30" }), 60_000);
  assert.equal(of({ "cache-control": "no-store, max-age=90" }), 0);
  assert.equal(of({ expires: "Thu, 01 Jan 1970 00:01:00 GMT" }), 60_000);
  assert.equal(of({ expires: "0" }), 0);
});

Deno.test("withQueryParameter keeps the query and escapes only what is required", () => {
  const add = (url: string, value = "https://a/b") =>
    withQueryParameter(url, "audience", value);

  assert.equal(add("https://i/a"), "https://i/a?audience=https://a/b");
  assert.equal(
    add("https://i/a?x=1#f"),
    "https://i/a?x=1&audience=https://a/b#f",
  );
  assert.equal(add("https://i/a?audience=y"), "https://i/a?audience=y");
  assert.equal(
    add("https://i/a", "a&b #+%"),
    "https://i/a?audience=a%26b%20%23%2B%25",
  );
});

Deno.test("adapters are found by both of their names", () => {
  assert.equal(adapterOf("IdpA"), adapterOf("Auth0"));
  assert.equal(adapterOf("IdpB"), adapterOf("Descope"));
  assert.equal(adapterOf("other"), undefined);
  assert.deepEqual(
    adapterOf("IdpA")?.metadataUrls("https://t.example/")[0],
    "https://t.example/.well-known/oauth-authorization-server",
  );
});
