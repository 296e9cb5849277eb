import assert from "node:assert/strict";
import { systemClock } from "../../../../src/base/clock.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { Informer } from "../../../../src/cluster/client/informer.ts";
import {
  type ApiCall,
  failure,
  FakeApiServer,
  list,
  object,
} from "./fake_api_server.ts";

const PATH = "/apis/gateway.networking.k8s.io/v1/httproutes";

/** An informer that runs, with a log of what it reports. */
function follow(
  { api }: FakeApiServer,
  options: { readonly fieldSelector?: string } = {},
) {
  const log: string[] = [];
  const waiting: { readonly entry: string; readonly resolve: () => void }[] =
    [];
  const note = (entry: string) => {
    log.push(entry);
    for (const each of waiting) if (each.entry === entry) each.resolve();
  };
  const stop = new AbortController();
  const informer = new Informer({
    api,
    clock: systemClock,
    random: () => 0,
    path: PATH,
    ...options,
    onChange: (now, before) =>
      note(
        `${before?.metadata.name ?? "none"} → ${now?.metadata.name ?? "none"} ${
          now?.metadata.resourceVersion ?? ""
        }`.trim(),
      ),
    onSync: () => note("synced"),
    onError: (error) => note(error?.message ?? "recovered"),
  });
  const running = informer.run(stop.signal);
  return {
    informer,
    log,
    async seen(entry: string): Promise<void> {
      if (log.includes(entry)) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ entry, resolve });
      await promise;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

Deno.test("an informer lists page by page, then follows changes from that version", async () => {
  await using server = new FakeApiServer(({ query }) =>
    query.get("continue") === null
      ? list([object("a", "1")], "7", "more")
      : list([object("b", "2")], "7")
  );
  await using followed = follow(server);
  const watch = await server.nextWatch();
  assert.equal(watch.query.get("resourceVersion"), "7");
  const event = JSON.stringify({ type: "MODIFIED", object: object("a", "8") });
  watch.write(event.slice(0, 20));
  watch.write(`${event.slice(20)}\n`);
  watch.send("DELETED", object("b", "9"));
  await followed.seen("b → none");
  assert.deepEqual(followed.log, [
    "none → a 1",
    "none → b 2",
    "synced",
    "a → a 8",
    "b → none",
  ]);
  const [kept] = followed.informer.items.values();
  assert.equal(kept?.kind, undefined);
  assert.equal(Object.hasOwn(kept?.metadata ?? {}, "managedFields"), false);
  watch.end();
});

Deno.test("objects of a list have the kind and the version of the list", async () => {
  await using server = new FakeApiServer(() => list([object("a", "1")], "1"));
  await using followed = follow(server);
  await followed.seen("synced");
  const kept = followed.informer.items.get("default/a");
  assert.equal(kept?.kind, "HTTPRoute");
  assert.equal(kept?.apiVersion, "gateway.networking.k8s.io/v1");
  (await server.nextWatch()).end();
});

Deno.test("a watch continues at the version of the last event, bookmarks included", async () => {
  await using server = new FakeApiServer(() => list([], "1"));
  await using _followed = follow(server);
  const first = await server.nextWatch();
  first.send("BOOKMARK", object("", "50"));
  first.end();
  const second = await server.nextWatch();
  assert.equal(second.query.get("resourceVersion"), "50");
  second.end();
});

for (
  const [how, expire] of [
    ["as the response", () => failure(410, "Expired")],
    ["as an event", () => undefined],
  ] as const
) {
  Deno.test(`after 410 ${how} an informer lists again, keeps what is the same and removes what is gone`, async () => {
    let lists = 0;
    let watches = 0;
    await using server = new FakeApiServer(({ query }) => {
      if (query.get("watch") === "1") {
        return (watches++ === 0 && expire()) || {};
      }
      return lists++ === 0
        ? list([object("a", "1"), object("b", "2")], "5")
        : list([object("a", "1"), object("c", "6")], "9");
    });
    await using followed = follow(server);
    // The rejected watch is none; the next one comes after the second list.
    const watch = await server.nextWatch();
    if (how === "as an event") {
      watch.send("ERROR", { code: 410, reason: "Expired", message: "too old" });
    }
    await followed.seen("none → c 6");
    assert.deepEqual(followed.log.filter((entry) => entry !== "synced"), [
      "none → a 1",
      "none → b 2",
      "b → none",
      "none → c 6",
    ]);
    watch.end();
    if (how === "as an event") (await server.nextWatch()).end();
  });
}

Deno.test("410 in the middle of a list begins the list again", async () => {
  let expired = false;
  await using server = new FakeApiServer(({ query }) => {
    if (query.get("continue") === null) {
      return list([object("a", "1")], "5", "old");
    }
    if (expired) return list([], "5");
    expired = true;
    return failure(410, "Expired");
  });
  await using followed = follow(server);
  await followed.seen("recovered");
  assert.deepEqual([...followed.informer.items.keys()], ["default/a"]);
  (await server.nextWatch()).end();
});

Deno.test("while the API server fails, an informer keeps what it has, and reports when it is back", async () => {
  let isDown = false;
  const answer = ({ query }: ApiCall) => {
    if (isDown) return failure(503, "ServiceUnavailable");
    return query.get("watch") === "1" ? {} : list([object("a", "1")], "1");
  };
  await using server = new FakeApiServer(answer);
  await using followed = follow(server);
  const watch = await server.nextWatch();
  isDown = true;
  watch.end();
  await followed.seen(
    "The API server responded with 503: it is ServiceUnavailable",
  );
  assert.deepEqual([...followed.informer.items.keys()], ["default/a"]);
  isDown = false;
  await followed.seen("recovered");
  (await server.nextWatch()).end();
});

for (
  const [what, line] of [
    ["no JSON", "<html>\n"],
    ["no event", "[]\n"],
    ["an event without an object", '{"type":"ADDED"}\n'],
  ] as const
) {
  Deno.test(`an event stream with ${what} is an error, and watched again`, async () => {
    await using server = new FakeApiServer(() => list([], "1"));
    await using followed = follow(server);
    const first = await server.nextWatch();
    first.write(line);
    const second = await server.nextWatch();
    assert.match(followed.log.join("\n"), /invalid response/);
    first.end();
    second.end();
  });
}

Deno.test("a field selector limits both the list and the watch", async () => {
  await using server = new FakeApiServer(() => list([], "1"));
  await using _followed = follow(server, {
    fieldSelector: "type=kubernetes.io/tls",
  });
  const watch = await server.nextWatch();
  assert.deepEqual(
    server.calls.map(({ query }) => query.get("fieldSelector")),
    ["type=kubernetes.io/tls", "type=kubernetes.io/tls"],
  );
  watch.end();
});

Deno.test("a pause after failures ends when the API server is back", async () => {
  let isDown = true;
  await using server = new FakeApiServer(() =>
    isDown ? failure(503, "ServiceUnavailable") : list([], "1")
  );
  const clock = new FakeClock();
  const failed = Promise.withResolvers<void>();
  const synced = Promise.withResolvers<void>();
  const informer = new Informer({
    api: server.api,
    clock,
    random: () => 0.5,
    path: "/apis/x",
    onError: () => failed.resolve(),
    onSync: () => synced.resolve(),
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await failed.promise;
  isDown = false;
  // The pause begins in a later turn.
  while (clock.pending === 0) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  informer.retryNow();
  await synced.promise;
  stop.abort();
  await running;
});
