import { isJsonObject, type JsonObject, listAt } from "../base/json.ts";

/** Parts of a configuration dump that a file determines. */
const sections = [
  "config",
  "binds",
  "listeners",
  "routes",
  "backends",
  "policies",
] as const;

/**
 * Returns what differs between two configuration dumps, in the order of the later one: `+ routes b`, `- backends a`, or `~ routes a`
 * and below it lines such as `    - hostnames: "a.example"`. Items of lists have names, or are shown whole: no index means another
 * item than before.
 */
export function configurationChanges(
  before: unknown,
  after: unknown,
): readonly string[] {
  return sections.flatMap((section) =>
    sectionChanges(section, itemsOf(before, section), itemsOf(after, section))
  );
}

/** Returns the items of a section by key; settings are one item. */
function itemsOf(dump: unknown, section: string): Map<string, unknown> {
  const value = isJsonObject(dump) ? dump[section] : undefined;
  if (!Array.isArray(value)) return new Map([["", value]]);
  return new Map(
    listAt(value).map((item, index) => [
      nameOf(item) ?? String(index),
      item,
    ]),
  );
}

function sectionChanges(
  section: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): readonly string[] {
  const keys = new Set([...after.keys(), ...before.keys()]);
  return [...keys].flatMap((key) => {
    const name = key === "" ? section : `${section} ${key}`;
    if (!before.has(key)) return [`+ ${name}`];
    if (!after.has(key)) return [`- ${name}`];
    const changes = changesOf("", before.get(key), after.get(key));
    return changes.length === 0
      ? []
      : [`~ ${name}`, ...changes.map((line) => `    ${line}`)];
  });
}

function changesOf(
  path: string,
  before: unknown,
  after: unknown,
): readonly string[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    return objectChanges(path, before, after);
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return listChanges(path, before, after);
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [...line("-", path, before), ...line("+", path, after)];
}

function objectChanges(
  path: string,
  before: JsonObject,
  after: JsonObject,
): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name) =>
    changesOf(
      path === "" ? name : `${path}.${name}`,
      before[name],
      after[name],
    )
  );
}

function listChanges(
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly string[] {
  const [old, now] = [byName(before), byName(after)];
  if (old !== undefined && now !== undefined) {
    const kept = Object.keys(now).filter((name) => Object.hasOwn(old, name));
    const wereKept = Object.keys(old).filter((name) =>
      Object.hasOwn(now, name)
    );
    return [
      ...orderChanges(path, wereKept, kept),
      ...objectChanges(path, old, now),
    ];
  }
  const removed = without(before, after);
  const added = without(after, before);
  const [[left, ...othersLeft], [right, ...othersRight]] = [removed, added];
  const isOneChanged = othersLeft.length + othersRight.length === 0 &&
    isJsonObject(left) && isJsonObject(right);
  if (isOneChanged) return changesOf(path, left, right);
  return removed.length + added.length === 0
    ? orderChanges(path, before, after)
    : [
      ...removed.flatMap((item) => line("-", path, item)),
      ...added.flatMap((item) => line("+", path, item)),
    ];
}

/** Lists with the same items in another order differ, too. */
function orderChanges(
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly string[] {
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [...line("-", path, before), ...line("+", path, after)];
}

/** Returns the items of the first list that the second one lacks; of equal items, as many as it lacks. */
function without(
  items: readonly unknown[],
  others: readonly unknown[],
): readonly unknown[] {
  const left = new Map<string, number>();
  for (const other of others) {
    const text = JSON.stringify(other);
    left.set(text, (left.get(text) ?? 0) + 1);
  }
  return items.filter((item) => {
    const text = JSON.stringify(item);
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}

/** Returns the items by name, if each has one of its own. */
function byName(items: readonly unknown[]): JsonObject | undefined {
  const named = items.flatMap((item) => {
    const name = nameOf(item);
    return name === undefined ? [] : [[name, item] as const];
  });
  const object = Object.fromEntries(named);
  const isNamed = Object.keys(object).length === items.length;
  return isNamed ? object : undefined;
}

function nameOf(item: unknown): string | undefined {
  const { key, name } = isJsonObject(item) ? item : {};
  const found = key ?? name;
  return typeof found === "string" ? found : undefined;
}

function line(sign: "+" | "-", path: string, value: unknown): string[] {
  return value === undefined
    ? []
    : [`${sign} ${path}: ${JSON.stringify(value)}`];
}
