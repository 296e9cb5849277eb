import assert from "node:assert/strict";
import { PasswordVerifier } from "../../../../src/policy/authentication/password_verifier.ts";
import { TurnQueue } from "../../../../src/policy/authentication/turn_queue.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const client = "192.0.2.1";

/** A slow check that is done when told. */
function slowCheck() {
  const pending: ((matches: boolean) => void)[] = [];
  const check = {
    isSlow: true,
    matches: () => new Promise<boolean>((resolve) => pending.push(resolve)),
  };
  return { pending, check };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

Deno.test("PasswordVerifier checks one password at a time and each once", async () => {
  const clock = new FakeClock();
  const { pending, check } = slowCheck();
  const verifier = new PasswordVerifier(new Map([["anna", check]]), clock);

  const first = verifier.verify("anna", "secret", client);
  const same = verifier.verify("anna", "secret", client);
  const other = verifier.verify("anna", "wrong", client);
  await settle();
  assert.equal(pending.length, 1);
  pending[0]?.(true);
  await settle();
  assert.equal(pending.length, 2);
  pending[1]?.(false);

  assert.deepEqual(await Promise.all([first, same, other]), [
    "right",
    "right",
    "wrong",
  ]);
  assert.equal(verifier.verify("anna", "secret", client), "right");
  assert.equal(verifier.verify("anna", "wrong", client), "wrong");
  clock.advance(5 * 60_000 + 1);
  const again = verifier.verify("anna", "secret", client);
  await settle();
  assert.equal(pending.length, 3);
  pending[2]?.(true);
  assert.equal(await again, "right");
});

for (
  const [which, random] of [["the newest", 0.999], ["the first", 0]] as const
) {
  Deno.test(`PasswordVerifier turns ${which} away when too many wait and chance says so`, async () => {
    const { pending, check } = slowCheck();
    const verifier = new PasswordVerifier(
      new Map([["anna", check]]),
      new FakeClock(),
      new TurnQueue(() => random),
    );
    const inTurn = verifier.verify("anna", "in turn", client);
    const all = Array.from(
      { length: 33 },
      (_, index) => verifier.verify("anna", String(index), client),
    );
    const [turnedAway] = all.splice(random === 0 ? 0 : -1, 1);

    assert.equal(await turnedAway, "busy");
    for (let i = 0; i < 33; i++) {
      await settle();
      pending[i]?.(false);
    }
    assert.equal(await inTurn, "wrong");
    assert.ok((await Promise.all(all)).every((each) => each === "wrong"));
  });
}

for (
  const [what, crowd, someone] of [
    ["another user", ["anna", "192.0.2.1"], ["otto", "192.0.2.1"]],
    ["invented names", ["nobody", "192.0.2.1"], ["anna", "192.0.2.1"]],
    ["another address", ["anna", "192.0.2.1"], ["anna", "192.0.2.2"]],
    [
      "many addresses of one client",
      ["anna", "2001:db8:0:1::1"],
      ["anna", "2001:db8:0:2::1"],
    ],
  ] as const
) {
  Deno.test(`PasswordVerifier gives somebody the next turn but one, whatever a crowd that guesses for ${what} does`, async () => {
    const { pending, check } = slowCheck();
    const verifier = new PasswordVerifier(
      new Map([["anna", check], ["otto", check]]),
      new FakeClock(),
    );
    const guesses = Array.from({ length: 100 }, (_, index) => {
      const [name, address] = crowd;
      const of = address.includes(".") ? address : `${address}${index}`;
      return verifier.verify(name, String(index), of);
    });
    const right = verifier.verify(someone[0], "secret", someone[1]);
    for (const matches of [false, false, true]) {
      await settle();
      pending.shift()?.(matches);
    }

    assert.equal(await right, "right");
    for (let i = 0; i < 40; i++) {
      await settle();
      pending.shift()?.(false);
    }
    await Promise.all(guesses);
  });
}

Deno.test("PasswordVerifier takes as long for a name that nobody has", async () => {
  const { pending, check } = slowCheck();
  const verifier = new PasswordVerifier(
    new Map([["anna", check]]),
    new FakeClock(),
  );
  const verdict = verifier.verify("nobody", "secret", client);
  await settle();
  pending[0]?.(true);
  assert.equal(await verdict, "wrong");
});

Deno.test("PasswordVerifier remembers who is known, whatever strangers try, for as long as they come", async () => {
  const clock = new FakeClock();
  let checks = 0;
  const check = {
    isSlow: true,
    matches: (password: string) => {
      checks++;
      return password === "secret";
    },
  };
  const verifier = new PasswordVerifier(new Map([["anna", check]]), clock);
  assert.equal(await verifier.verify("anna", "secret", client), "right");

  for (let i = 0; i < 1100; i++) {
    assert.equal(await verifier.verify("anna", `guess ${i}`, client), "wrong");
  }
  for (let minute = 0; minute < 20; minute += 4) {
    clock.advance(4 * 60_000);
    assert.equal(verifier.verify("anna", "secret", client), "right");
  }
  assert.equal(checks, 1101);
});

Deno.test("PasswordVerifier rests after a slow check for as long as that took", async () => {
  const clock = new FakeClock();
  let checks = 0;
  const check = {
    isSlow: true,
    matches: () => {
      checks++;
      clock.advance(50);
      return false;
    },
  };
  const verifier = new PasswordVerifier(new Map([["anna", check]]), clock);
  assert.equal(await verifier.verify("anna", "first", client), "wrong");

  const second = verifier.verify("anna", "second", client);
  clock.advance(49);
  await settle();
  assert.equal(checks, 1);
  clock.advance(1);
  assert.equal(await second, "wrong");
  assert.equal(checks, 2);
});

Deno.test("PasswordVerifier goes on after a check that failed", async () => {
  let failing = true;
  const check = {
    isSlow: true,
    matches: () =>
      failing ? Promise.reject(new Error("broken")) : Promise.resolve(true),
  };
  const verifier = new PasswordVerifier(
    new Map([["anna", check]]),
    new FakeClock(),
  );
  await assert.rejects(async () =>
    await verifier.verify("anna", "secret", client)
  );
  failing = false;
  assert.equal(await verifier.verify("anna", "secret", client), "right");
});
