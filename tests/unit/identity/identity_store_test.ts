import assert from "node:assert/strict";
import { addressOfUrl } from "../../../src/identity/document_client.ts";
import { IdentityStore } from "../../../src/identity/identity_store.ts";
import { noKeyCache } from "../../../src/identity/key_cache.ts";
import { DocumentUnavailableError } from "../../../src/identity/remote_document.ts";
import { FakeClock } from "../../harness/fake_clock.ts";

/** A store, and a server that accepts one connection and never answers. */
function setUp() {
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  const log = {
    ...{ error: write, warn: write, info: write, debug() {}, trace() {} },
    isEnabled: () => true,
  };
  const clock = new FakeClock();
  const store = new IdentityStore({ clock, log, cache: noKeyCache });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = addressOfUrl(`http://127.0.0.1:${listener.addr.port}/keys`);
  return { store, clock, lines, listener, address };
}

for (const kind of ["keys", "metadata"] as const) {
  Deno.test(`closing the store ends a fetch of ${kind} that is under way, without a warning`, async () => {
    const { store, lines, listener, address, clock } = setUp();
    const lease = store.lease();
    const waiting = kind === "keys"
      ? lease.keys({ kind: "remote", address }).get()
      : lease.metadata([address, address]).get();
    const failure = assert.rejects(
      Promise.resolve(waiting),
      DocumentUnavailableError,
    );
    const connection = await listener.accept();
    await connection.read(new Uint8Array(1024));

    await store.close();

    await failure;
    assert.equal(await connection.read(new Uint8Array(1)), null);
    assert.equal(clock.pending, 0);
    assert.deepEqual(lines, []);
    connection.close();
    listener.close();
  });
}

Deno.test("a key set that cannot be had says what failed last and when it is asked for again", async () => {
  const { store, clock, listener, address } = setUp();
  listener.close();
  const keys = store.lease().keys({ kind: "remote", address });
  assert.equal(keys.describe().retryAt, null);

  for (const retryAt of ["00:00:01.000", "00:00:03.000", "00:00:07.000"]) {
    await assert.rejects(async () => await keys.get());

    const { lastError, ...state } = keys.describe();
    assert.match(String(lastError), /connect/i);
    assert.equal(state.retryAt, `2026-01-01T${retryAt}Z`);
    assert.equal(state.fetchedAt, null);
    clock.advance(Date.parse(state.retryAt) - clock.now());
  }
  assert.equal(keys.describe().failures, 3);
  await store.close();
});
