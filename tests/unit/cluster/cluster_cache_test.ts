import assert from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { ClusterCache } from "../../../src/cluster/source/cluster_cache.ts";
import {
  collectionPath,
  createCollections,
} from "../../../src/cluster/source/collections.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import {
  failure,
  FakeApiServer,
  list,
  object,
} from "./client/fake_api_server.ts";

const [sets] = createCollections("example.com").filter(({ kind }) =>
  kind === "ListenerSet"
);

Deno.test("a kind that an older cluster does not have is waited for by nobody, and read once it is there", async () => {
  assert.ok(sets !== undefined);
  const path = collectionPath(sets);
  let isInstalled = false;
  await using server = new FakeApiServer((call) =>
    call.path === path && !isInstalled
      ? failure(404, "the server could not find the requested resource")
      : list([object("extra", "1")], "7")
  );
  const log = new RecordedLog();
  const added = Promise.withResolvers<void>();
  const cache = new ClusterCache({
    api: server.api,
    clock: systemClock,
    log,
    random: () => 0,
    collections: [sets],
    namespaces: [],
    onChange: () => added.resolve(),
  });
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  try {
    await cache.synced;
    assert.deepEqual([...cache.failures], []);
    assert.deepEqual([...cache.objects("ListenerSet")], []);
    isInstalled = true;
    await added.promise;
    const [found] = cache.objects("ListenerSet");
    assert.equal(found?.metadata.name, "extra");
  } finally {
    stop.abort();
    await running;
  }
});

Deno.test("Secrets are certificates, and keys of LLM providers and logins by their label", async () => {
  const secrets = createCollections("example.com").filter(({ kind }) =>
    kind === "Secret"
  );
  await using server = new FakeApiServer(({ query }) =>
    query.get("labelSelector") ===
        "example.com/credentials in (llm,login)"
      ? list([object("openai", "1")], "7")
      : list([object("certificate", "1")], "7")
  );
  const cache = new ClusterCache({
    api: server.api,
    clock: systemClock,
    log: new RecordedLog(),
    random: () => 0,
    collections: secrets,
    namespaces: [],
    onChange: () => undefined,
  });
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  try {
    await cache.synced;
    const names = secrets.map((collection) =>
      Array.from(cache.objectsOf(collection), ({ metadata }) => metadata.name)
    );
    assert.deepEqual(names, [["certificate"], ["openai"]]);
  } finally {
    stop.abort();
    await running;
  }
});
