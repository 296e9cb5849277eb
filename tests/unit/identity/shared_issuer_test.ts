import assert from "node:assert/strict";
import { DocumentUnavailableError } from "../../../src/identity/documents/remote_document.ts";
import {
  type KeySource,
  readKeySet,
} from "../../../src/identity/keys/key_set.ts";
import { TokenError } from "../../../src/identity/tokens/token.ts";
import { TokenVerifier } from "../../../src/identity/tokens/token_verifier.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../../harness/login/tokens.ts";

const clock = new FakeClock();
const now = clock.now();
const people = await createTokenIssuer({ kid: "people", now });
const machines = await createTokenIssuer({ kid: "machines", now });
const { issuer } = people;

async function keysOf(signer: TokenIssuer): Promise<KeySource> {
  const keys = await readKeySet(jwksOf(signer));
  return { get: () => keys, newer: () => Promise.resolve(keys) };
}

const noKeys: KeySource = {
  get: () => Promise.reject(new DocumentUnavailableError("no keys", 5)),
  newer: (than) => Promise.resolve(than),
};

const peopleKeys = await keysOf(people);
const machineKeys = await keysOf(machines);

/** A verifier with two providers of one issuer, whose audiences and keys differ. */
function verifierOf(keysOfMachines = machineKeys): TokenVerifier {
  return new TokenVerifier({
    providers: [
      { issuer, audiences: ["people"], keys: peopleKeys },
      { issuer, audiences: ["machines"], keys: keysOfMachines },
    ],
    clockSkewMs: 60_000,
    clock,
  });
}

function rejection(values: RegExp, message: string) {
  return (error: unknown) => {
    assert(error instanceof TokenError, String(error));
    assert.equal(error.message, message);
    assert.match(String(error.cause), values);
    return true;
  };
}

Deno.test("a token passes if one provider of its issuer accepts it, whichever is first", async () => {
  const verifier = verifierOf();
  for (const signer of [people, machines]) {
    const aud = signer === people ? "people" : "machines";

    const claims = await verifier.verify(await signer.sign({ aud }));

    assert.equal(claims["aud"], aud);
  }
});

Deno.test("an audience of one provider does not open with the keys of the other", async () => {
  const token = await people.sign({ aud: "machines" });

  await assert.rejects(async () => await verifierOf().verify(token), {
    name: "TokenError",
    message: "token audience is not accepted, token key is unknown",
  });
});

Deno.test("the error of an audience that no provider accepts names what was tried", async () => {
  const token = await people.sign({ aud: "guests" });

  await assert.rejects(
    async () => await verifierOf().verify(token),
    rejection(
      /^tried 2 providers of its issuer: for audiences "people": .*has "guests".*; for audiences "machines": .*has "guests"/,
      "token audience is not accepted",
    ),
  );
});

Deno.test("a token with both audiences that no key has signed gets both reasons", async () => {
  const forger = await createTokenIssuer({ kid: "people", now });
  const token = await forger.sign({ aud: ["people", "machines"] });

  await assert.rejects(
    async () => await verifierOf().verify(token),
    rejection(/^tried 2/, "token signature is invalid, token key is unknown"),
  );
});

Deno.test("missing keys of one provider do not close the other one of the same issuer", async () => {
  const verifier = verifierOf(noKeys);

  await verifier.verify(await people.sign({ aud: "people" }));
  await verifier.verify(await people.sign({ aud: ["machines", "people"] }));
  for (
    const token of [
      await machines.sign({ aud: "machines" }),
      await machines.sign({ aud: ["people", "machines"] }),
    ]
  ) {
    await assert.rejects(
      async () => await verifier.verify(token),
      DocumentUnavailableError,
    );
  }
});
