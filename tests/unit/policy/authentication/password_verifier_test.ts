import assert from "node:assert/strict";
import { PasswordVerifier } from "../../../../src/policy/authentication/password_verifier.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";

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

  const first = verifier.verify("anna", "secret");
  const same = verifier.verify("anna", "secret");
  const other = verifier.verify("anna", "wrong");
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
  assert.equal(verifier.verify("anna", "secret"), "right");
  assert.equal(verifier.verify("anna", "wrong"), "wrong");
  clock.advance(5 * 60_000 + 1);
  const again = verifier.verify("anna", "secret");
  await settle();
  assert.equal(pending.length, 3);
  pending[2]?.(true);
  assert.equal(await again, "right");
});

Deno.test("PasswordVerifier turns requests away when too many wait", async () => {
  const { pending, check } = slowCheck();
  const verifier = new PasswordVerifier(
    new Map([["anna", check]]),
    new FakeClock(),
  );
  const waiting = Array.from(
    { length: 32 },
    (_, index) => verifier.verify("anna", String(index)),
  );
  assert.equal(verifier.verify("anna", "one more"), "busy");
  for (let i = 0; i < 32; i++) {
    await settle();
    pending[i]?.(false);
  }
  assert.ok((await Promise.all(waiting)).every((each) => each === "wrong"));
});

Deno.test("PasswordVerifier takes as long for a name that nobody has", async () => {
  const { pending, check } = slowCheck();
  const verifier = new PasswordVerifier(
    new Map([["anna", check]]),
    new FakeClock(),
  );
  const verdict = verifier.verify("nobody", "secret");
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
  assert.equal(await verifier.verify("anna", "secret"), "right");

  for (let i = 0; i < 1100; i++) {
    assert.equal(await verifier.verify("anna", `guess ${i}`), "wrong");
  }
  for (let minute = 0; minute < 20; minute += 4) {
    clock.advance(4 * 60_000);
    assert.equal(verifier.verify("anna", "secret"), "right");
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
  assert.equal(await verifier.verify("anna", "first"), "wrong");

  const second = verifier.verify("anna", "second");
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
  await assert.rejects(async () => await verifier.verify("anna", "secret"));
  failing = false;
  assert.equal(await verifier.verify("anna", "secret"), "right");
});
