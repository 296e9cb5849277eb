import assert from "node:assert/strict";
import type {
  TraceEvent,
  TraceMessage,
} from "../../../../src/telemetry/trace/trace_event.ts";
import {
  type TraceStream,
  TraceWatchers,
} from "../../../../src/telemetry/trace/trace_watchers.ts";

function event(message: TraceMessage): TraceEvent {
  return { eventStart: null, eventEnd: 0, severity: "info", message };
}

const started = event({ type: "requestStarted" });
const finished = event({ type: "requestFinished", status: 200, error: null });

function body(length: number): TraceEvent {
  const stage = "response";
  return event({ type: "bodySnapshot", stage, body: "a".repeat(length) });
}

function watch(
  watchers: TraceWatchers<string>,
  { wants = () => true, count = 1, group }: {
    readonly wants?: (request: string) => boolean;
    readonly count?: number;
    readonly group?: string;
  } = {},
): TraceStream {
  const stream = watchers.watch({ wants, count, group });
  if (stream === undefined) throw new Error("refused");
  return stream;
}

async function typesOf(stream: TraceStream): Promise<string[]> {
  const types: string[] = [];
  for await (const { message } of stream) {
    types.push(
      message.type === "eventsDropped"
        ? `${message.type} ${message.count}`
        : message.type,
    );
  }
  return types;
}

Deno.test("TraceWatchers show a request to every watcher that wants it: one takes none away from another", async () => {
  const watchers = new TraceWatchers<string>();
  const picky = watch(watchers, { wants: (request) => request === "b" });
  const follow = watch(watchers, { count: 3 });
  const next = watch(watchers);

  const emitters = ["a", "b", "c", "d"].map((request) => {
    const emit = watchers.take(request);
    emit?.(finished);
    return emit;
  });

  assert.equal(emitters[3], undefined);
  assert.equal(watchers.isWatched, false);
  assert.deepEqual(await typesOf(picky), ["requestFinished"]);
  assert.deepEqual(await typesOf(next), ["requestFinished"]);
  assert.deepEqual(await typesOf(follow), [
    "requestFinished",
    "requestFinished",
    "requestFinished",
  ]);
});

Deno.test("TraceWatchers show a request to one watcher of a group, and to the next while that one is busy", async () => {
  const watchers = new TraceWatchers<string>();
  const group = { count: 2, group: "followers" };
  const streams = [watch(watchers, group), watch(watchers, group)];
  const other = watch(watchers, { count: 3 });

  watchers.take("a")?.(finished);
  const busy = watchers.take("b");
  const [first, second] = watchers.describe();
  watchers.take("c")?.(finished);
  busy?.(finished);
  watchers.take("d")?.(finished);

  assert.deepEqual([first?.isBusy, second?.isBusy], [true, false]);
  const seen = await Promise.all([...streams, other].map(typesOf));
  assert.deepEqual(seen.map(({ length }) => length), [2, 2, 3]);
});

Deno.test("TraceWatchers keep the place of a watcher of several requests, one at a time", () => {
  const watchers = new TraceWatchers<string>();
  watch(watchers, { count: 2 });
  const emit = watchers.take("a");

  assert.equal(watchers.take("b"), undefined);
  emit?.(finished);
  assert.notEqual(watchers.take("c"), undefined);
  assert.equal(watchers.take("d"), undefined);
});

Deno.test("TraceWatchers count the events that a slow reader misses, in their place", async () => {
  const watchers = new TraceWatchers<string>();
  const stream = watch(watchers);
  const emit = watchers.take("a");

  emit?.(started);
  for (let i = 0; i < 5; i++) emit?.(body(1024 * 1024));
  emit?.(finished);

  const types = await typesOf(stream);
  assert.deepEqual(types, [
    "requestStarted",
    "bodySnapshot",
    "bodySnapshot",
    "bodySnapshot",
    "eventsDropped 2",
    "requestFinished",
  ]);
});

Deno.test("TraceWatchers resume events when a reader catches up", async () => {
  const watchers = new TraceWatchers<string>();
  const stream = watch(watchers);
  const emit = watchers.take("a");
  for (let i = 0; i < 514; i++) emit?.(started);
  const events = stream[Symbol.asyncIterator]();

  for (let i = 0; i < 512; i++) await events.next();
  emit?.(body(1));
  emit?.(finished);

  const rest: string[] = [];
  for (let next = await events.next(); next.done !== true;) {
    rest.push(next.value.message.type);
    next = await events.next();
  }
  assert.deepEqual(rest, ["eventsDropped", "bodySnapshot", "requestFinished"]);
});

Deno.test("TraceWatchers free the place of a reader that leaves during a request", async () => {
  const watchers = new TraceWatchers<string>();
  const stream = watch(watchers, { count: 2 });
  const emit = watchers.take("a");
  emit?.(started);

  for await (const _event of stream) break;

  assert.equal(watchers.isWatched, false);
  emit?.(finished);
  assert.deepEqual(await typesOf(stream), []);
});

Deno.test("TraceWatchers stop waiting watchers and let traces under way end", async () => {
  const watchers = new TraceWatchers<string>();
  const busy = watch(watchers, { count: 5 });
  const emit = watchers.take("a");
  const waiting = watch(watchers);

  watchers.stopAccepting();
  emit?.(finished);

  assert.deepEqual(await typesOf(waiting), []);
  assert.deepEqual(await typesOf(busy), ["requestFinished"]);
});

Deno.test("TraceWatchers end every stream when they close", async () => {
  const watchers = new TraceWatchers<string>();
  const stream = watch(watchers);
  const reading = typesOf(stream);
  watchers.take("a");

  watchers.close();

  assert.deepEqual(await reading, []);
});
