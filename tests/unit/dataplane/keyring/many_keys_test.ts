import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { KeyringTable } from "../../../../src/dataplane/keyring/keyring_table.ts";
import { selectObjects } from "../../../../src/dataplane/keyring/keyring_views.ts";

const KEYS = 100_000;

/** A table with keys `key-000000` and so on, each thousandth of team `red`. */
function tableOfMany(count = KEYS): KeyringTable {
  const table = new KeyringTable();
  // In another order than that of their IDs.
  for (let index = count - 1; index >= 0; index--) {
    const id = `key-${String(index).padStart(6, "0")}`;
    table.set({
      kind: "key",
      id,
      team: index % 1000 === 0 ? "red" : "blue",
      sequence: 1,
      createdAt: 0,
      changedAt: 0,
      secrets: [{
        hash: createHash("sha256").update(id).digest("base64url"),
        prefix: `gk_${String(index * 7919 % KEYS).padStart(6, "0")}`,
        createdAt: 0,
      }],
    });
  }
  return table;
}

Deno.test("100,000 keys are listed by pages in the order of their IDs, and found by any of their words", async () => {
  const table = tableOfMany();
  const select = async (selection: object) => {
    const { objects, hasMore } = await selectObjects(
      table,
      "key",
      { limit: 100, ...selection },
      1,
    );
    return { ids: objects.map(({ id }) => id), hasMore };
  };

  const first = await select({});
  const second = await select({ after: first.ids.at(-1) });
  const last = await select({ after: "key-099949" });
  const red = await select({ text: "RED", limit: 1000 });
  const byPrefix = await select({ text: "gk_007919" });
  const none = await select({ text: "green" });

  assert.equal(first.ids.length, 100);
  assert.deepEqual([first.ids[0], first.ids[99]], ["key-000000", "key-000099"]);
  assert.equal(first.hasMore, true);
  assert.equal(second.ids[0], "key-000100");
  assert.deepEqual([last.ids.length, last.hasMore], [50, false]);
  assert.equal(red.ids.length, 100);
  assert.equal(red.ids[1], "key-001000");
  assert.deepEqual(byPrefix.ids, ["key-000001"]);
  assert.deepEqual(none, { ids: [], hasMore: false });
});

Deno.test("a text that no key has is found out without reading the keys, and changes of keys are found", async () => {
  const table = tableOfMany(5000);
  const read = { count: 0 };
  const find = table.find.bind(table);
  table.find = (kind, id) => (read.count++, find(kind, id));
  const select = async (selection: object) => {
    const chosen = { limit: 10, ...selection };
    const { objects } = await selectObjects(table, "key", chosen, 1);
    return objects.map(({ id }) => id);
  };

  const none = await select({ text: "green" });
  const noTeam = await select({ team: "green" });
  const known = find("key", "key-000003");
  assert(known !== undefined);
  table.set({ ...known, sequence: 2, name: "Green", team: "green" });
  read.count = 0;
  const renamed = await select({ text: "green" });
  const moved = await select({ team: "green" });
  const next = await select({ after: "key-000002" });

  assert.deepEqual([none, noTeam], [[], []]);
  assert.deepEqual([renamed, moved], [["key-000003"], ["key-000003"]]);
  assert.deepEqual(next.slice(0, 2), ["key-000003", "key-000004"]);
  assert(read.count < 20, `${read.count} keys read`);
});
