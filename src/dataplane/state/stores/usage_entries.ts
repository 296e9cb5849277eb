import { createHash } from "node:crypto";
import type { KvEntry, KvHandle, Replacement } from "../../../kv/kv_handle.ts";
import {
  createSums,
  mergeSums,
  sumNames,
} from "../../../telemetry/traffic/request_sums.ts";
import {
  identify,
  OTHER,
  usageColumns,
  type UsageRow,
  type UsageRowName,
  type UsageUnit,
  usageUnits,
  withoutDetails,
} from "../../../telemetry/traffic/usage_table.ts";

/** A row to add to the entry of its name, once. */
export interface UsageChange {
  readonly unit: UsageUnit;
  readonly row: UsageRow;
  /** Name of the process that writes. */
  readonly writer: string;
  /** Grows with each change of the writer. */
  readonly sequence: number;
}

/** Begins all keys; the number is the version of the entries. */
const prefix = ["usage", 2];

/** Time for which entries are kept: two days and 13 months, and some more. */
export const keptMs: Readonly<Record<UsageUnit, number>> = {
  hour: 3 * usageUnits.day,
  day: 400 * usageUnits.day,
};

/** Entries of an hour or day with all names; further ones only have those of the columns that few clients can fill. */
export const MAX_ENTRIES = 2000;
/** Entries of an hour or day; further rows are one. */
const MAX_SHORT_ENTRIES = MAX_ENTRIES + 500;
/** Writers whose last change an entry remembers. */
const MAX_WRITERS = 32;

/** Returns the prefix of the entries of an hour or day. */
export function entriesOf(unit: UsageUnit, start: number): Deno.KvKey {
  return [...prefix, unit, start];
}

/**
 * Adds rows to their entries, all or none; leaves out those that an entry says it has: a write may have been done though its
 * response got lost. An hour or day that is full takes rows with fewer names.
 * @param changes In the order of their sequence.
 * @param isLate See `KvStore.transact`.
 */
export async function applyChanges(
  kv: KvHandle,
  changes: readonly UsageChange[],
  isLate: () => boolean,
): Promise<"conflict" | undefined> {
  const known = new Map<string, Promise<KnownEntry>>();
  const read = (key: Deno.KvKey): Promise<KnownEntry> =>
    known.getOrInsertComputed(
      JSON.stringify(key),
      async () => ({ key, ...await kv.read(key), next: undefined }),
    );
  await Promise.all(changes.map(({ unit, row }) => read(keyOf(unit, row))));
  for (const change of changes) await addTo(read, change);
  const written = (await Promise.all(known.values()))
    .filter(({ next }) => next !== undefined);
  if (written.length === 0) return undefined;
  if (isLate()) return "conflict";
  const isDone = await kv.commit(
    written.map(({ key, version, next }) => ({
      key,
      version,
      ...next !== undefined && { next },
    })),
  );
  return isDone ? undefined : "conflict";
}

/** An entry of the store, and what becomes of it. */
interface KnownEntry extends KvEntry {
  readonly key: Deno.KvKey;
  next: Replacement | undefined;
}

async function addTo(
  read: (key: Deno.KvKey) => Promise<KnownEntry>,
  change: UsageChange,
): Promise<void> {
  const { unit, row, writer, sequence } = change;
  const expireInMs = keptMs[unit];
  for (const { name, room } of placesOf(row)) {
    const known = await read(keyOf(unit, name));
    const entry = readEntry(known.next?.value ?? known.value);
    if ((entry?.writers.get(writer) ?? 0) >= sequence) return;
    if (known.version === null && known.next === undefined) {
      const count = await read([...prefix, "count", unit, row.start]);
      const { value } = count.next ?? count;
      const entries = typeof value === "number" ? value : 0;
      if (entries >= room) continue;
      count.next = { value: entries + 1, expireInMs };
    }
    known.next = {
      value: entryOf(entry, name, change),
      expireInMs,
      listed: { prefix: entriesOf(unit, row.start), time: 0 },
    };
    return;
  }
}

/** Yields the names under which a row can be counted, and up to how many entries each takes. */
function* placesOf(
  row: UsageRow,
): Generator<{ readonly name: UsageRowName; readonly room: number }> {
  yield { name: row, room: MAX_ENTRIES };
  const short = { ...row, key: OTHER, user: OTHER, route: OTHER };
  yield {
    name: { ...short, tool: row.tool === "" ? "" : OTHER },
    room: MAX_SHORT_ENTRIES,
  };
  yield { name: withoutDetails(row), room: Infinity };
}

/** Names are long: the key has their digest. Entries are listed by time, which the prefix has. */
function keyOf(unit: UsageUnit, name: UsageRowName): Deno.KvKey {
  const digest = createHash("sha256").update(identify(name))
    .digest("base64url");
  return [...entriesOf(unit, name.start), 0, digest];
}

interface Entry {
  readonly row: UsageRow;
  /** The last change of each writer, the writer of the latest last. */
  readonly writers: ReadonlyMap<string, number>;
}

function entryOf(
  entry: Entry | undefined,
  name: UsageRowName,
  { row, writer, sequence }: UsageChange,
): unknown {
  const sums = createSums();
  if (entry !== undefined) mergeSums(sums, entry.row);
  mergeSums(sums, row);
  const writers = [...entry?.writers ?? []].filter(([id]) => id !== writer)
    .slice(1 - MAX_WRITERS);
  const names = Object.fromEntries(
    usageColumns.flatMap((each) =>
      name[each] === "" ? [] : [[each, name[each]]]
    ),
  );
  const { start } = name;
  return {
    start,
    ...names,
    ...sums,
    writers: [...writers, [writer, sequence]],
  };
}

/** Checks a value of the store; `undefined` for one that no gateway wrote. */
export function readRow(value: unknown): UsageRow | undefined {
  return readEntry(value)?.row;
}

function readEntry(value: unknown): Entry | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const start = fields.get("start");
  const writers = fields.get("writers");
  if (typeof start !== "number" || !Array.isArray(writers)) return undefined;
  const row = { ...withoutDetails({ ...noNames, start }), ...createSums() };
  for (const name of usageColumns) row[name] = String(fields.get(name) ?? "");
  for (const name of sumNames) row[name] = Number(fields.get(name) ?? 0) || 0;
  return {
    row,
    writers: new Map(
      writers.map(([id, sequence]) => [String(id), Number(sequence)]),
    ),
  };
}

const noNames = {
  key: "",
  user: "",
  team: "",
  tag: "",
  model: "",
  provider: "",
  route: "",
  server: "",
  tool: "",
};
