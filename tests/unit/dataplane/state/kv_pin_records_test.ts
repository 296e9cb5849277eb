import assert from "node:assert/strict";
import { createLogger } from "../../../../src/base/log/log.ts";
import { defaultLogFilter } from "../../../../src/base/log/log_filter.ts";
import { KvPinRecords } from "../../../../src/dataplane/state/stores/kv_pin_records.ts";
import { PinBook } from "../../../../src/dataplane/state/stores/pin_book.ts";
import { openKv } from "../../../../src/kv/open_kv.ts";
import { lockedTool } from "../../../../src/mcp/approval/tool_lock.ts";
import { systemClock } from "../../../../src/base/clock.ts";

const place = { backend: "default/tools", server: "docs" };

function toolsOf(names: readonly string[], description = "Reads.") {
  return new Map(
    names.map((name) => [name, lockedTool({ name, description })]),
  );
}

/** Two processes with the same store. */
async function createBooks() {
  const folder = await Deno.makeTempDir();
  const store = `${folder}/gateway.db`;
  // Its own timers do not keep the process alive.
  const setTimer = (callback: () => void, ms: number) => {
    const id = setTimeout(callback, ms);
    return () => clearTimeout(id);
  };
  const clock = { ...systemClock, setTimer };
  const log = createLogger({
    write() {},
    clock,
    format: "text",
    filter: defaultLogFilter,
  }).module("mcp");
  const create = () =>
    new PinBook(
      new KvPinRecords({
        store,
        clock,
        log,
        random: () => 0.5,
        onChange() {},
      }),
    );
  const [one, two] = [create(), create()];
  return {
    one,
    two,
    store,
    async [Symbol.asyncDispose]() {
      await Promise.all([one.close(), two.close()]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

Deno.test("of two processes that see a server first, one decides what is approved", async () => {
  await using books = await createBooks();

  const [one, two] = await Promise.all([
    books.one.pin(place, toolsOf(["read"], "One."), false),
    books.two.pin(place, toolsOf(["read"], "Two."), false),
  ]);

  assert.deepEqual(one, two);
  assert.deepEqual(await books.one.read(place), one);
  assert.equal(await books.one.read({ ...place, server: "x" }), undefined);
});

Deno.test("new names are approved only where new tools are trusted, and no change replaces what is approved", async () => {
  await using books = await createBooks();
  await books.one.pin(place, toolsOf(["read"]), false);

  const held = await books.two.pin(place, toolsOf(["read", "send"]), false);
  const trusted = await books.two.pin(
    place,
    toolsOf(["read", "send"], "Changed."),
    true,
  );
  await books.one.approve(place, toolsOf(["read"], "Approved."));
  const after = await books.two.read(place);

  assert.deepEqual(held, toolsOf(["read"]));
  assert.deepEqual(
    trusted,
    new Map([...toolsOf(["read"]), ...toolsOf(["send"], "Changed.")]),
  );
  assert.deepEqual(
    after,
    new Map([
      ...toolsOf(["read"], "Approved."),
      ...toolsOf(["send"], "Changed."),
    ]),
  );
});

Deno.test("long definitions are in several parts, and those that are too long are known by their digests", async () => {
  await using books = await createBooks();
  const random = (bytes: number) =>
    Array.from(
      { length: bytes / 32_768 },
      () => crypto.getRandomValues(new Uint8Array(32_768)).toHex(),
    ).join("");
  const long = toolsOf(["read"], random(262_144));
  const longer = toolsOf(["read"], random(2_097_152));

  await books.one.pin(place, long, false);
  const whole = await books.two.read(place);
  await books.one.approve(place, longer);
  const digests = await books.two.read(place);

  assert.deepEqual(whole, long);
  assert.deepEqual(
    digests?.get("read"),
    { digest: longer.get("read")?.digest },
  );
});

Deno.test("a damaged record approves nothing", async () => {
  await using books = await createBooks();
  await books.one.pin(place, toolsOf(["read"]), false);
  const kv = await openKv(books.store);
  const key = ["mcp-pins", 1, "server", place.backend, place.server];

  for (const value of ["x", {}, { tag: "x", parts: 1 }]) {
    const { version } = await kv.read(key);
    assert.ok(await kv.replace(key, version, { value }));
    await assert.rejects(books.two.read(place), /damaged/);
  }
  kv.close();
});
