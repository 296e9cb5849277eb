import assert from "node:assert/strict";
import { Keyring, revoke } from "../../../../src/dataplane/keyring/keyring.ts";
import { KeyringReader } from "../../../../src/dataplane/keyring/keyring_reader.ts";
import { openKv } from "../../../../src/kv/open_kv.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { PatientClock } from "../../../harness/time/patient_clock.ts";

Deno.test("a revocation that was written is in force, though the store fails right after", async () => {
  const clock = new PatientClock();
  let isDown = false;
  const keyring = new Keyring({
    store: ":memory:",
    clock,
    log: new RecordedLog(),
    random: () => 0.5,
    settings: { egress: { allow: [], deny: [] } },
    open: async (path) => {
      const kv = await openKv(path);
      return {
        ...kv,
        read: (key) =>
          isDown ? Promise.reject(new Error("store is down")) : kv.read(key),
        commit: async (changes) => {
          const isWritten = await kv.commit(changes);
          isDown = changes.length > 3;
          return isWritten;
        },
      };
    },
  });
  const digest = "ab".repeat(32);
  const hash = Uint8Array.fromHex(digest)
    .toBase64({ alphabet: "base64url", omitPadding: true });
  await keyring.change("key", "a", () => ({
    kind: "key",
    id: "a",
    createdAt: 0,
    changedAt: 0,
    secrets: [{ hash, prefix: "gk_a", createdAt: 0 }],
  }));
  const reader = new KeyringReader(() => keyring.memory());
  await reader.ready();
  const before = reader.find(digest);

  const change = await keyring.change(
    "key",
    "a",
    (object) => object ? revoke(object, 1) : { problem: "unknown" },
  );
  const after = reader.find(digest);
  const reading = keyring.read();
  await keyring.close();

  assert(typeof before === "object" && before.id === "a");
  assert("object" in change, JSON.stringify(change));
  assert.equal(after, "unavailable");
  assert.match(reading?.problem ?? "", /cannot reach the store/);
});
