import assert from "node:assert/strict";
import { issuer, startStory } from "../../../harness/login/identity_story.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";

const second = 1000;
const old = await createTokenIssuer({ issuer, kid: "k1" });
const successors = {
  "the same key id": await createTokenIssuer({ issuer, kid: "k1" }),
  "a new key id": await createTokenIssuer({ issuer, kid: "k2" }),
};

for (const [kid, successor] of Object.entries(successors)) {
  Deno.test(`a key that replaces another under ${kid} is accepted at the first request`, async () => {
    await using story = await startStory(old);
    const { clock, idp, sign, signNow, answer } = story;
    assert.equal((await answer(await sign())).status, 200);
    clock.advance(second);

    idp.keys = [successor];

    assert.equal((await answer(await signNow(successor))).status, 200);
    assert.equal((await answer(await signNow(old))).status, 401);
  });

  Deno.test(`a token of a fresh key under ${kid} gets 503 within the cool-down of bad tokens, and then passes`, async () => {
    await using story = await startStory(old);
    const { clock, idp, server, sign, signNow, answer } = story;
    const impostor = await createTokenIssuer({ issuer, kid: "k1" });
    assert.equal((await answer(await sign())).status, 200);
    clock.advance(second);
    const bad = await answer(await signNow(impostor));
    assert.deepEqual([bad.status, idp.keyRequests], [401, 2]);

    clock.advance(3 * second);
    idp.keys = [successor];
    const fresh = await signNow(successor);

    assert.deepEqual(await answer(fresh), {
      status: 503,
      challenge: undefined,
      retryAfter: "7",
    });
    assert.equal(idp.keyRequests, 2);
    clock.advance(7 * second);
    assert.equal((await answer(fresh)).status, 200);
    assert.deepEqual([idp.keyRequests, server.reached.length], [3, 2]);
  });
}

Deno.test("a bad token gets 401 within the cool-down when it was issued before the last fetch", async () => {
  await using story = await startStory(old);
  const { clock, idp, sign, signNow, answer } = story;
  const impostor = await createTokenIssuer({ issuer, kid: "k1" });
  const token = await signNow(impostor);
  assert.equal((await answer(await sign())).status, 200);
  clock.advance(100 * second);
  assert.equal((await answer(token)).status, 401);
  clock.advance(second);

  const again = await answer(token);
  const fresh = await answer(await signNow(impostor));

  assert.deepEqual([again.status, fresh.status], [401, 503]);
  assert.match(again.challenge ?? "", /token signature is invalid/);
  assert.equal(idp.keyRequests, 2);
});

for (const [kid, successor] of Object.entries(successors)) {
  Deno.test(`a token of a withdrawn key gets 401 right after the change to ${kid}, so that its client refreshes it`, async () => {
    await using story = await startStory(old);
    const { clock, idp, signNow, answer } = story;
    const withdrawn = await signNow(old);
    assert.equal((await answer(withdrawn)).status, 200);
    clock.advance(second);
    idp.keys = [successor];
    assert.equal((await answer(await signNow(successor))).status, 200);
    clock.advance(second);

    assert.equal((await answer(withdrawn)).status, 401);
    assert.equal(idp.keyRequests, 2);

    clock.advance(10 * second);
    idp.keys = [old];
    assert.equal((await answer(withdrawn)).status, 200);
  });
}

Deno.test("a token that its claims rule out causes no fetch", async () => {
  await using story = await startStory(old);
  const { clock, idp, sign, answer } = story;
  const impostor = await createTokenIssuer({ issuer, kid: "k9" });
  assert.equal((await answer(await sign())).status, 200);
  clock.advance(second);

  for (const claims of [{ exp: 1 }, { aud: "another" }, { exp: undefined }]) {
    const { status, challenge } = await answer(await sign(impostor, claims));
    assert.equal(status, 401);
    assert.match(challenge ?? "", /token key is unknown/);
  }

  assert.equal(idp.keyRequests, 1);
});
