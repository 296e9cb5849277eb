import { isJsonObject, type JsonObject } from "../../base/json.ts";
import * as s from "../../api/schema/schema.ts";
import type { SchemaNode } from "../../api/schema/schema_node.ts";
import { withoutDefaults } from "../../api/schema/without_defaults.ts";
import { settingsSchema } from "../../api/settings.ts";
import { builtInPolicies } from "../../policy/registry.ts";
import { writtenParts } from "./written_parts.ts";

/** Parts of a configuration dump that a file determines. */
const sections = [
  "config",
  "binds",
  "listeners",
  "routes",
  "backends",
  "policies",
] as const;

const { traffic, backend } = builtInPolicies.schemas;

/** Schemas of the items of sections, as far as they have defaults. */
const schemas: Readonly<Record<string, SchemaNode>> = {
  config: settingsSchema,
  routes: s.object({ policies: traffic }),
  policies: s.object({ traffic, backend }),
};

/** A place in an item. */
interface Place {
  /** Of items of lists, the names. */
  readonly path: readonly string[];
  readonly schema: SchemaNode | undefined;
}

/**
 * Returns what differs between two configuration dumps, in the order of the later one: `+ routes b`, `- backends a`, or `~ routes a`
 * and below it lines such as `    - hostnames: "a.example"`. Items of lists have names, or are shown whole: no index means another
 * item than before. A policy is shown once, where it was written: in its route, or as itself. What is added or removed is shown
 * without the fields that have their default.
 */
export function configurationChanges(
  before: unknown,
  after: unknown,
): readonly string[] {
  const [old, now] = [writtenParts(before), writtenParts(after)];
  return sections.flatMap((section) =>
    sectionChanges(section, itemsOf(old, section), itemsOf(now, section))
  );
}

/** Returns the items of a section by key; settings are one item. */
function itemsOf(dump: JsonObject, section: string): Map<string, unknown> {
  const value = dump[section];
  if (!Array.isArray(value)) return new Map([["", value]]);
  return new Map(
    value.map((item, index) => [nameOf(item) ?? String(index), item]),
  );
}

function sectionChanges(
  section: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): readonly string[] {
  const keys = new Set([...after.keys(), ...before.keys()]);
  const place = { path: [], schema: schemas[section] };
  return [...keys].flatMap((key) => {
    const name = key === "" ? section : `${section} ${key}`;
    if (!before.has(key)) {
      const added = policiesOf(place, after.get(key));
      return [`+ ${name}`, ...added.map((line) => `    ${line}`)];
    }
    if (!after.has(key)) return [`- ${name}`];
    const changes = changesOf(place, before.get(key), after.get(key));
    return changes.length === 0
      ? []
      : [`~ ${name}`, ...changes.map((line) => `    ${line}`)];
  });
}

/** Lists the policies of an item that is new: what they say is what it does. */
function policiesOf({ schema }: Place, item: unknown): readonly string[] {
  if (!isJsonObject(item)) return [];
  return ["policies", "traffic", "backend"].flatMap((name) =>
    isJsonObject(item[name])
      ? changesOf({ path: [name], schema }, {}, item[name])
      : []
  );
}

function changesOf(
  place: Place,
  before: unknown,
  after: unknown,
): readonly string[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    return objectChanges(place, before, after);
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return listChanges(place, before, after);
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [...line("-", place, before), ...line("+", place, after)];
}

function objectChanges(
  { path, schema }: Place,
  before: JsonObject,
  after: JsonObject,
): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name) =>
    changesOf({ path: [...path, name], schema }, before[name], after[name])
  );
}

function listChanges(
  place: Place,
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
      ...orderChanges(place, wereKept, kept),
      ...objectChanges(place, old, now),
    ];
  }
  const removed = without(before, after);
  const added = without(after, before);
  const [[left, ...othersLeft], [right, ...othersRight]] = [removed, added];
  const isOneChanged = othersLeft.length + othersRight.length === 0 &&
    isJsonObject(left) && isJsonObject(right);
  if (isOneChanged) return changesOf(place, left, right);
  return removed.length + added.length === 0
    ? orderChanges(place, before, after)
    : [
      ...removed.flatMap((item) => line("-", place, item)),
      ...added.flatMap((item) => line("+", place, item)),
    ];
}

/** Lists with the same items in another order differ, too. */
function orderChanges(
  place: Place,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly string[] {
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [...line("-", place, before), ...line("+", place, after)];
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

function line(
  sign: "+" | "-",
  { path, schema }: Place,
  value: unknown,
): string[] {
  if (value === undefined) return [];
  const shown = schema === undefined
    ? value
    : withoutDefaults(schema, path, value);
  return [`${sign} ${path.join(".")}: ${JSON.stringify(shown)}`];
}
