import assert from "node:assert/strict";
import type { Clock } from "../../../../src/base/clock.ts";
import { KvUsageBook } from "../../../../src/dataplane/state/stores/kv_usage_book.ts";
import { MAX_ENTRIES } from "../../../../src/dataplane/state/stores/usage_entries.ts";
import type { KvHandle } from "../../../../src/kv/kv_handle.ts";
import { openKv } from "../../../../src/kv/open_kv.ts";
import {
  type UsageRow,
  type UsageUnit,
  usageUnits,
} from "../../../../src/telemetry/traffic/usage_table.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { until } from "../../../harness/servers/held_upstream.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { RedisServer } from "../../../harness/servers/redis_server.ts";

/** A day on which the clock of the tests starts. */
const today = Math.floor(new FakeClock().now() / usageUnits.day) *
  usageUnits.day;

const row: UsageRow = {
  start: today,
  key: "team=blue",
  user: "",
  team: "blue",
  tag: "",
  model: "gpt-4o",
  provider: "openai",
  route: "llm",
  server: "",
  tool: "",
  requests: 1,
  clientErrors: 0,
  serverErrors: 0,
  inputTokens: 5,
  outputTokens: 7,
  nanoUsd: 9,
  uncounted: 0,
};

interface Site {
  readonly store: string;
  readonly clock?: Clock;
  readonly open?: (store: string) => Promise<KvHandle>;
}

function createBook({ clock = new FakeClock(), ...options }: Site) {
  const log = new RecordedLog();
  return new KvUsageBook({ ...options, clock, log, random: () => 0 });
}

async function rowsOf(book: KvUsageBook, unit: UsageUnit = "day") {
  const rows: UsageRow[] = [];
  for await (const some of book.read(unit, today, Infinity)) rows.push(...some);
  return rows;
}

async function requestsIn(book: KvUsageBook, unit?: UsageUnit) {
  const rows = await rowsOf(book, unit);
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

async function withFolder(work: (store: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  await work(`${folder}/db`);
  await Deno.remove(folder, { recursive: true });
}

async function checkTwoProcesses(store: string): Promise<void> {
  const clock = new FakeClock();
  clock.advance(2 * usageUnits.hour);
  const create = () => createBook({ store, clock });
  const [one, two] = [create(), create()];
  one.add([row]);
  assert.equal(await requestsIn(two), 0);
  // Reading writes what was not written yet.
  assert.equal(await requestsIn(one), 1);
  assert.equal(await requestsIn(two), 1);
  two.add([row, { ...row, start: today + usageUnits.hour }]);
  assert.equal(await requestsIn(one), 1);
  clock.advance(2000);
  await until(async () => await requestsIn(one, "hour") === 3);
  await until(async () => await requestsIn(one) === 3);
  assert.equal((await rowsOf(one, "hour")).length, 2);
  assert.equal((await rowsOf(one)).length, 1);
  await Promise.all([one.close(), two.close()]);
}

Deno.test("a process reads its own use at once, and that of others after two seconds: by the hour and by the day", async () => {
  await withFolder(checkTwoProcesses);
});

Deno.test("with Redis, processes add up what they use", async () => {
  await using redis = await RedisServer.start();
  await checkTwoProcesses(redis.url);
});

/** Makes every third write and then reports an error, and fails every seventh before it. */
function unreliable(store: string): (path: string) => Promise<KvHandle> {
  let writes = 0;
  const write = async (commit: () => Promise<boolean>) => {
    const number = ++writes;
    if (number % 7 === 0) throw new Error("the connection was reset");
    const isDone = await commit();
    if (number % 3 === 0) throw new Error("the response was lost");
    return isDone;
  };
  return async () => {
    const kv = await openKv(store);
    return {
      ...kv,
      replace: (...args) => write(() => kv.replace(...args)),
      commit: (...args) => write(() => kv.commit(...args)),
    };
  };
}

/** The day of the tests, on which time passes fast. */
const clock: Clock = {
  now: () => today + 1000,
  monotonic: () => performance.now() * 50,
  setTimer(callback, delayMs) {
    const id = setTimeout(callback, delayMs / 50);
    return () => clearTimeout(id);
  },
};

Deno.test("each row counts once, though responses of the store get lost and processes write at the same time", async () => {
  await withFolder(async (store) => {
    const books = [unreliable(store), unreliable(store), openKv].map((open) =>
      createBook({ store, clock, open })
    );
    const models = ["a", "b", "c"];
    for (let round = 0; round < 10; round++) {
      for (const book of books) {
        book.add(models.map((model) => ({ ...row, model })));
      }
      await Promise.all(books.map((book) => requestsIn(book).catch(() => 0)));
    }
    await until(async () => {
      const found = await Promise.all(
        books.map((book) => requestsIn(book).catch(() => 0)),
      );
      return found.includes(90);
    });
    await Promise.all(books.map((book) => book.close()));
    const after = createBook({ store, clock });
    const rows = await rowsOf(after);
    assert.deepEqual(
      rows.map((each) => [each.model, each.requests, each.nanoUsd]).sort(),
      models.map((model) => [model, 30, 270]),
    );
    assert.equal(await requestsIn(after, "hour"), 90);
    await after.close();
  });
});

Deno.test("a day has a limited number of entries: further ones keep team, model and provider", async () => {
  await withFolder(async (store) => {
    const book = createBook({ store });
    const keys = Array.from({ length: MAX_ENTRIES + 40 }, (_, at) => `k${at}`);
    book.add(keys.map((key) => ({ ...row, key })));
    const rows = await rowsOf(book);
    assert.equal(rows.length, MAX_ENTRIES + 1);
    const [other] = rows.filter(({ key }) => key === "other");
    assert.equal(other?.requests, 40);
    assert.deepEqual(
      [other?.team, other?.model, other?.provider],
      ["blue", "gpt-4o", "openai"],
    );
    assert.equal(await requestsIn(book), keys.length);
    await book.close();
  });
});
