import assert from "node:assert/strict";
import { PatientClock } from "../../harness/patient_clock.ts";
import {
  createMemoryLoginState,
  KvLoginState,
} from "../../../src/oauth/login_state.ts";

/** A minute after the start of every fake clock. */
const later = new PatientClock().now() + 60_000;

Deno.test("KvLoginState gives every process on a store the same secret, codes and grants", async () => {
  const directory = await Deno.makeTempDir();
  const store = `${directory}/state.sqlite`;
  const one = new KvLoginState(store, new PatientClock());
  const two = new KvLoginState(store, new PatientClock());
  try {
    const [first, second] = await Promise.all([one.secret(), two.secret()]);

    assert.equal(first, second);
    assert.equal(await one.grants.spend("code", later), true);
    assert.equal(await two.grants.spend("code", later), false);
    await two.grants.release("code");
    assert.equal(await one.grants.spend("code", later), true);
    assert.equal(await two.grants.isEnded("grant"), false);
    await one.grants.end("grant", later);
    assert.equal(await two.grants.isEnded("grant"), true);
  } finally {
    await one.close();
    await two.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("KvLoginState rejects while its store cannot be opened, and works when it can", async () => {
  const directory = await Deno.makeTempDir();
  const state = new KvLoginState(
    `${directory}/missing/state.sqlite`,
    new PatientClock(),
  );
  try {
    await assert.rejects(state.secret());
    await Deno.mkdir(`${directory}/missing`);

    assert.equal((await state.secret()).length, 43);
  } finally {
    await state.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("createMemoryLoginState accepts each code once", async () => {
  const { grants } = createMemoryLoginState(new PatientClock());

  assert.equal(await grants.spend("code", later), true);
  assert.equal(await grants.spend("code", later), false);
});
