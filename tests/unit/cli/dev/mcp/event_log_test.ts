import assert from "node:assert/strict";
import { EventLog } from "../../../../../cli/dev/mcp/event_log.ts";

async function replay(
  log: EventLog<object>,
  after: string,
): Promise<[string, object][]> {
  const replayed: [string, object][] = [];
  await log.replayEventsAfter(after, {
    send: (id, message) => Promise.resolve(void replayed.push([id, message])),
  });
  return replayed;
}

Deno.test("EventLog replays what the same stream sent later, without priming events", async () => {
  const log = new EventLog<object>(10);
  await log.storeEvent("a", {});
  await log.storeEvent("b", { text: "other stream" });
  await log.storeEvent("a", { text: "missed" });
  await log.storeEvent("a", {});

  assert.deepEqual(await replay(log, "1"), [["3", { text: "missed" }]]);
  assert.deepEqual(await replay(log, "3"), []);
});

Deno.test("EventLog keeps event ids in order beyond ten events", async () => {
  const log = new EventLog<object>(20);
  for (let i = 1; i <= 12; i++) await log.storeEvent("a", { i });

  assert.deepEqual((await replay(log, "9")).map(([id]) => id), [
    "10",
    "11",
    "12",
  ]);
});

Deno.test("EventLog does not replay after an event it has forgotten", async () => {
  const log = new EventLog<object>(2);
  for (let i = 1; i <= 3; i++) await log.storeEvent("a", { i });

  await assert.rejects(replay(log, "1"), {
    message: 'Cannot replay after event "1"',
  });
  assert.equal(await log.getStreamIdForEventId("1"), undefined);
  assert.equal(await log.getStreamIdForEventId("3"), "a");
});
