import assert from "node:assert/strict";
import { openEgress } from "../../../src/base/wire/egress_policy.ts";
import { addressOfUrl } from "../../../src/identity/documents/document_client.ts";
import { IdentityStore } from "../../../src/identity/identity_store.ts";
import {
  type CachedDocument,
  type DocumentCache,
  noDocumentCache,
} from "../../../src/identity/documents/document_cache.ts";
import { DocumentUnavailableError } from "../../../src/identity/documents/remote_document.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { IdentityServer } from "../../harness/login/identity_server.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { createTokenIssuer } from "../../harness/login/tokens.ts";

/** Creates a store, and a server that accepts one connection and never responds. */
function setUp() {
  const log = new RecordedLog();
  const clock = new FakeClock();
  const store = new IdentityStore({
    clock,
    log,
    egress: openEgress,
    cache: noDocumentCache,
  });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = addressOfUrl(`http://127.0.0.1:${listener.addr.port}/keys`);
  return { store, clock, log, listener, address };
}

for (const kind of ["keys", "metadata"] as const) {
  Deno.test(`closing the store aborts a fetch of ${kind} without a warning`, async () => {
    const { store, log, listener, address, clock } = setUp();
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
    assert.deepEqual(log.messages("error", "warn", "info"), []);
    connection.close();
    listener.close();
  });
}

Deno.test("an unavailable key set reports the last error and the time of the next attempt", async () => {
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
    assert.deepEqual([state.keys, state.leftOutKeys], [0, []]);
    clock.advance(Date.parse(state.retryAt) - clock.now());
  }
  assert.equal(keys.describe().failures, 3);
  await store.close();
});

for (const kind of ["keys", "metadata"] as const) {
  Deno.test(`the log reports once that ${kind} are available again`, async () => {
    await using idp = await IdentityServer.start({ condition: "failing" });
    idp.keys = [await createTokenIssuer()];
    const { store, clock, log, listener } = setUp();
    listener.close();
    const lease = store.lease();
    const path = kind === "keys"
      ? "/jwks.json"
      : "/.well-known/oauth-authorization-server";
    const address = addressOfUrl(idp.origin + path);
    const document = kind === "keys"
      ? lease.keys({ kind: "remote", address })
      : lease.metadata([address]);
    await assert.rejects(async () => await document.get());

    await idp.become("up");
    for (let i = 0; i < 2; i++) {
      clock.advance(24 * 60 * 60_000);
      await document.get();
    }

    assert.deepEqual(
      log.messages("warn", "info"),
      kind === "keys" ? ["Cannot fetch keys", "Keys are available again"] : [
        "Cannot fetch authorization server metadata",
        "Authorization server metadata is available again",
      ],
    );
    await store.close();
  });
}

/** Creates a cache in memory. */
function memoryCache(): DocumentCache {
  const saved = new Map<string, CachedDocument>();
  return {
    ...noDocumentCache,
    load: (kind, source) => Promise.resolve(saved.get(kind + source)),
    save: (kind, source, document) =>
      Promise.resolve(void saved.set(kind + source, document)),
  };
}

Deno.test("cached keys of one backend are never used for another backend with the same name", async () => {
  await using idp = await IdentityServer.start();
  idp.keys = [await createTokenIssuer()];
  const { clock, listener, address } = setUp();
  listener.close();
  const options = {
    clock,
    log: new RecordedLog(),
    egress: openEgress,
    cache: memoryCache(),
  };
  const authority = "idp.example";
  const { connection, target } = addressOfUrl(`${idp.origin}/jwks.json`);
  const other = { connection: address.connection, authority, target };
  const one = { connection, authority, target };
  const name = "idp.example";
  const trusting = (caCertificates: readonly string[] | undefined) => ({
    ...one,
    connection: {
      ...connection,
      tls: { hostname: name, subjectAltNames: [], caCertificates },
    },
  });
  const keysOf = async (address: typeof one) =>
    (await new IdentityStore(options).lease().keys({ kind: "remote", address })
      .get()).keys.map(({ kid }) => kid);

  assert.deepEqual(await keysOf(one), ["k1"]);
  await idp.become("down");

  assert.deepEqual(await keysOf(one), ["k1"]);
  for (const each of [other, trusting(undefined), trusting(["a"])]) {
    await assert.rejects(keysOf(each), DocumentUnavailableError);
  }
});

Deno.test("metadata that was fetched before is used when a restart finds the provider away", async () => {
  await using idp = await IdentityServer.start();
  const clock = new FakeClock();
  const options = {
    clock,
    log: new RecordedLog(),
    egress: openEgress,
    cache: memoryCache(),
  };
  const address = addressOfUrl(`${idp.origin}/.well-known/x`);
  const read = async () =>
    await new IdentityStore(options).lease().metadata([address]).get();
  const before = await read();
  await idp.become("down");

  clock.advance(60 * 60_000);

  assert.deepEqual(await read(), before);
  clock.advance(24 * 60 * 60_000);
  await assert.rejects(read, DocumentUnavailableError);
});

Deno.test("refetch fetches keys, and metadata that was used before", async () => {
  await using idp = await IdentityServer.start();
  idp.keys = [await createTokenIssuer({ kid: "x".repeat(9000) })];
  const { store, listener } = setUp();
  listener.close();
  const lease = store.lease();
  const address = (path: string) => addressOfUrl(idp.origin + path);
  const keys = lease.keys({ kind: "remote", address: address("/jwks.json") });
  const used = lease.metadata([address("/.well-known/used")]);
  lease.metadata([address("/.well-known/unused")]);
  await keys.get();
  await used.get();
  idp.requests.length = 0;

  await store.refetch();

  assert.deepEqual(idp.requests.map((line) => line.split(" ")[1]).sort(), [
    "/.well-known/used",
    "/jwks.json",
  ]);
  assert.deepEqual(keys.describe().kids, ["x".repeat(64)]);
});

Deno.test("a provider cannot inflate messages that are logged with every request", async () => {
  const { store, log, listener } = setUp();
  listener.close();
  const keys = Array.from(
    { length: 100 },
    () => ({ kty: "oct", kid: "x".repeat(9000) }),
  );
  const source = store.lease().keys({
    kind: "inline",
    text: JSON.stringify({ keys }),
  });

  await assert.rejects(async () => await source.get());

  const { lastError } = source.describe();
  assert.ok(String(lastError).length < 500, `${lastError}`.slice(0, 1000));
  assert.match(String(lastError), / and 95 more$/);
  assert.equal(log.messages("error", "warn", "info").length, 1);
});

Deno.test("a key set reports at most twenty unusable keys with reasons", async () => {
  const { store, listener } = setUp();
  listener.close();
  const { jwk } = await createTokenIssuer();
  const unfit = Array.from(
    { length: 30 },
    (_, index) => ({ ...jwk, kid: `e${index}`, use: "enc" }),
  );
  const source = store.lease().keys({
    kind: "inline",
    text: JSON.stringify({ keys: [jwk, ...unfit] }),
  });
  await source.get();

  const { keys, leftOutKeys } = source.describe();

  assert.equal(keys, 1);
  assert.equal(leftOutKeys.length, 20);
  assert.equal(leftOutKeys[0], '"e0": not for signatures');
});

Deno.test("an error about metadata in place of keys names the keys' URL", async () => {
  await using idp = await IdentityServer.start();
  const { store, log, listener } = setUp();
  listener.close();
  const url = `${idp.origin}/.well-known/openid-configuration`;
  idp.metadata = { jwks_uri: "https://idp.example/keys" };
  const source = store.lease().keys({
    kind: "remote",
    address: addressOfUrl(url),
  });

  await assert.rejects(async () => await source.get());

  assert.equal(
    source.describe().lastError,
    'expected {"keys": […]}, got provider metadata; use its jwks_uri, "https://idp.example/keys"',
  );
  assert.deepEqual(log.messages("error", "warn", "info"), [
    "Cannot fetch keys",
  ]);
});

Deno.test("deeply nested metadata does not replace working metadata", async () => {
  await using idp = await IdentityServer.start();
  const { store, clock, listener } = setUp();
  listener.close();
  const address = addressOfUrl(`${idp.origin}/.well-known/x`);
  const metadata = store.lease().metadata([address]);
  const good = await metadata.get();
  let deep: unknown = [];
  for (let i = 0; i < 40; i++) deep = [deep];
  idp.metadata = { deep };

  clock.advance(11 * 60_000);

  assert.equal(await metadata.get(), good);
  assert.match(String(metadata.describe().lastError), /nested too deeply/);
});
