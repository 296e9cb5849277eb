/** Documents of identity providers with several workers: they are fetched as often as by one gateway. */
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import assert from "node:assert/strict";
import { MessageChannel } from "node:worker_threads";
import {
  createSharedDocuments,
  serveDocuments,
} from "../../../../src/dataplane/state/shared_documents.ts";
import type { DocumentCalls } from "../../../../src/dataplane/state/state_calls.ts";
import { Channel } from "../../../../src/dataplane/state/channel.ts";
import { noDocumentCache } from "../../../../src/identity/documents/document_cache.ts";
import { addressOfUrl } from "../../../../src/identity/documents/document_client.ts";
import {
  DocumentCoolDownError,
  DocumentUnavailableError,
} from "../../../../src/identity/documents/remote_document.ts";
import { IdentityStore } from "../../../../src/identity/identity_store.ts";
import type { RemoteKeys } from "../../../../src/identity/keys/remote_keys.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  type Condition,
  IdentityServer,
} from "../../../harness/login/identity_server.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { createTokenIssuer } from "../../../harness/login/tokens.ts";

const second = 1000;
const minute = 60 * second;
const k1 = await createTokenIssuer({ kid: "k1" });
const k2 = await createTokenIssuer({ kid: "k2" });

type NoCalls = Record<never, never>;

/** Starts a provider, and three workers that use its keys. */
async function setUp(condition: Condition = "up") {
  const idp = await IdentityServer.start({ condition });
  idp.keys = [k1];
  const clock = new FakeClock();
  const log = new RecordedLog();
  const options = { clock, log, egress: openEgress, cache: noDocumentCache };
  const control = new IdentityStore(options);
  const open = new AsyncDisposableStack();
  open.use(idp);
  open.defer(() => control.close());
  const startWorker = () => {
    const { port1, port2 } = new MessageChannel();
    const { handlers, end } = serveDocuments(control);
    new Channel<NoCalls, DocumentCalls>(port1).serve(handlers);
    const channel = new Channel<DocumentCalls, NoCalls>(port2);
    channel.serve({});
    open.defer(() => port1.close());
    const store = new IdentityStore({
      ...options,
      shared: createSharedDocuments(channel),
    });
    const lease = store.lease();
    const address = addressOfUrl(`${idp.origin}/jwks.json`);
    const keys = lease.keys({ kind: "remote", address });
    return { keys, lease, store, end };
  };
  return {
    idp,
    clock,
    log,
    control,
    startWorker,
    workers: [startWorker(), startWorker(), startWorker()],
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function kidsOf(keys: RemoteKeys) {
  return (await keys.get()).keys.map(({ kid }) => kid);
}

Deno.test("the keys are fetched once for all workers, and once more for a key that all of them lack", async () => {
  await using story = await setUp();
  const { idp, clock, workers } = story;
  const all = await Promise.all(workers.map(({ keys }) => keys.get()));
  assert.equal(idp.keyRequests, 1);

  clock.advance(second);
  for (let at = 0; at < 100; at++) {
    await Promise.all(
      workers.map(({ keys }, worker) => all[worker] && keys.newer(all[worker])),
    );
  }
  assert.equal(idp.keyRequests, 2);

  idp.keys = [k1, k2];
  clock.advance(10 * second);
  await Promise.all(
    workers.map(({ keys }, worker) => all[worker] && keys.newer(all[worker])),
  );

  assert.equal(idp.keyRequests, 3);
  for (const { keys } of workers) {
    assert.deepEqual(await kidsOf(keys), ["k1", "k2"]);
  }
});

Deno.test("the cool-down that one worker has begun ends at the same time for the others", async () => {
  await using story = await setUp();
  const { idp, clock, workers: [one, two] } = story;
  assert(one !== undefined && two !== undefined);
  const [known, knownByOther] = [await one.keys.get(), await two.keys.get()];
  clock.advance(second);
  await one.keys.newer(known);

  clock.advance(7 * second);
  await assert.rejects(
    two.keys.newer(knownByOther, clock.now()),
    (error: unknown) =>
      error instanceof DocumentCoolDownError && error.retryAfter === 3,
  );
  clock.advance(3 * second);
  idp.keys = [k2];

  await two.keys.newer(knownByOther, clock.now());
  assert.deepEqual(await kidsOf(two.keys), ["k2"]);
  assert.equal(idp.keyRequests, 3);
});

Deno.test("all workers together retry an unavailable provider after 1, 2, 4, … seconds, and write one line", async () => {
  await using story = await setUp("failing");
  const { idp, clock, log, workers } = story;
  for (const [attempt, wait] of [1, 2, 4, 8, 16, 32, 60].entries()) {
    for (const { keys } of workers) {
      await assert.rejects(
        async () => await keys.get(),
        (error: unknown) =>
          error instanceof DocumentUnavailableError &&
          error.retryAfter === wait,
      );
    }
    assert.equal(idp.keyRequests, attempt + 1);
    clock.advance(wait * second);
  }
  assert.equal(log.messages("warn").length, 7);

  await idp.become("up");
  for (const { keys } of workers) assert.deepEqual(await kidsOf(keys), ["k1"]);
  assert.equal(idp.keyRequests, 8);
  assert.deepEqual(log.messages("info"), ["Keys are available again"]);
});

Deno.test("a worker that starts while the provider is away gets the keys that the others have", async () => {
  await using story = await setUp();
  const { idp, clock, workers: [one], startWorker } = story;
  assert(one !== undefined);
  await one.keys.get();
  await idp.become("down");
  clock.advance(30 * minute);

  assert.deepEqual(await kidsOf(startWorker().keys), ["k1"]);
  clock.advance(24 * 60 * minute);
  await assert.rejects(async () => await kidsOf(startWorker().keys));
});

Deno.test("keys that are stale are fetched once, and used by all workers meanwhile", async () => {
  await using story = await setUp();
  const { idp, clock, workers } = story;
  await Promise.all(workers.map(({ keys }) => keys.get()));
  idp.keys = [k2];
  clock.advance(16 * minute);

  for (const { keys } of workers) assert.deepEqual(await kidsOf(keys), ["k1"]);
  // Each waits for the fetch that it has caused.
  for (const { keys } of workers) await keys.refetch();

  for (const { keys } of workers) assert.deepEqual(await kidsOf(keys), ["k2"]);
  assert.equal(idp.keyRequests, 2);
});

Deno.test("keys that no worker uses any more are forgotten, also those of a worker that ended", async () => {
  await using story = await setUp();
  const { idp, control, workers: [one, two, three], startWorker } = story;
  assert(one !== undefined && two !== undefined && three !== undefined);
  await Promise.all([one, two, three].map(({ keys }) => keys.get()));
  assert.equal(control.fetched().length, 1);

  for (const { lease, keys } of [one, two]) {
    lease.release();
    await keys.refetch();
  }
  three.end();
  await startWorker().keys.get();

  assert.equal(idp.keyRequests, 2);
  assert.equal(control.fetched().length, 1);
});

Deno.test("a worker reports a document that it does not use any more as unavailable", async () => {
  await using story = await setUp("down");
  const { workers: [one] } = story;
  assert(one !== undefined);
  one.lease.release();

  await assert.rejects(
    async () => await one.keys.get(),
    DocumentUnavailableError,
  );
});
