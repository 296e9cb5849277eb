import assert from "node:assert/strict";
import type { KeyHash } from "../../../../src/ratelimit/shared/key_hash.ts";
import { KeyTable } from "../../../../src/ratelimit/shared/key_table.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const MAX_KEYS = 8;

/** Keys that share buckets. */
function hashOf(key: number): KeyHash {
  return { a: key % 3, b: key, c: 0, d: 0 };
}

const operations = fc.array(fc.record({
  kind: fc.constantFrom("add", "touch", "delete"),
  key: fc.nat(9),
}));

/** Applies operations to a table and to a list, the oldest key first. */
function apply(
  table: KeyTable,
  list: readonly { readonly kind: string; readonly key: number }[],
): number[] {
  const keys: number[] = [];
  for (const { kind, key } of list) {
    const isKnown = keys.includes(key);
    assert.equal(table.peek(hashOf(key)) !== undefined, isKnown);
    if (kind === "delete") {
      table.deleteOldest();
      keys.shift();
    } else if (kind === "add" && !isKnown && keys.length < MAX_KEYS) {
      table.add(hashOf(key)).used = key;
      keys.push(key);
    } else if (kind === "touch" && isKnown) {
      table.use(hashOf(key));
      keys.splice(keys.indexOf(key), 1);
      keys.push(key);
    }
  }
  return keys;
}

/** The keys of a table, the oldest first; empties it. */
function drain(table: KeyTable): number[] {
  const keys: number[] = [];
  for (let { oldest } = table; oldest !== undefined; { oldest } = table) {
    keys.push(oldest.used);
    table.deleteOldest();
  }
  assert.equal(table.size, 0);
  return keys;
}

Deno.test("keys are found, and deleted in the order of use", () => {
  fc.assert(fc.property(operations, (list) => {
    const table = new KeyTable(MAX_KEYS);
    const keys = apply(table, list);
    assert.equal(table.size, keys.length);
    assert.deepEqual(drain(table), keys);
  }));
});

Deno.test("a second table in the same memory sees the same keys", () => {
  const first = new KeyTable(MAX_KEYS);
  first.add(hashOf(1)).used = 1;
  const second = new KeyTable(MAX_KEYS, { buffer: first.buffer });
  assert.equal(second.peek(hashOf(1))?.used, 1);
});

Deno.test("repair keeps the order of a table that is whole", () => {
  fc.assert(fc.property(operations, (list) => {
    const table = new KeyTable(MAX_KEYS);
    const keys = apply(table, list);
    table.repair();
    assert.equal(table.size, keys.length);
    assert.deepEqual(drain(table), keys);
  }));
});

Deno.test("repair finds all keys again after links were left half written", () => {
  const damage = fc.array(fc.record({
    place: fc.integer({ min: 2, max: 79 }),
    value: fc.nat(MAX_KEYS),
  }));
  fc.assert(fc.property(operations, damage, (list, damage) => {
    const table = new KeyTable(MAX_KEYS);
    const keys = apply(table, list);
    const [words] = table.lock;
    for (const { place, value } of damage) {
      if (isLink(place)) words[place] = value;
    }
    table.repair();

    for (const key of keys) assert(table.peek(hashOf(key)));
    assert.equal(table.size, keys.length);
    for (let key = 90; table.size < MAX_KEYS; key++) {
      table.add(hashOf(key)).used = key;
    }
    assert.equal(drain(table).length, MAX_KEYS);
  }));
});

/** Size, heads of lists, buckets, and the last three words of each record; the other words a dying thread leaves as they were. */
function isLink(place: number): boolean {
  const header = 8 + MAX_KEYS;
  return place < header ? place !== 3 : (place - header) % 8 >= 5;
}

Deno.test("a memory of 100,000 keys takes 6 MB", () => {
  assert.ok(new KeyTable(100_000).buffer.byteLength < 6 * 2 ** 20);
});
