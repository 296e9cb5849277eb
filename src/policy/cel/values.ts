import { mapValue, opaqueMap, type Value } from "./library.ts";

/** Limit of nesting in claims and JSON. */
const MAX_DEPTH = 32;
/** Limit of values in claims and JSON. */
const MAX_VALUES = 20_000;

/**
 * Converts claims or metadata: `key in jwt` tests for a claim; `key in jwt.claim`, `jwt.claim.exists(…)` and the like only work on
 * lists.
 *
 * Converts each object once. No name is special: `__proto__` is a claim like any other.
 * @throws {RangeError} If they are nested too deeply, or too many.
 */
export function claimsValue(claims: Readonly<Record<string, unknown>>): Value {
  return convertClaims(claims).value;
}

/** Converts claims of which some are changed or added. */
export function claimsWith(
  claims: Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>>,
): Value {
  const { entries } = convertClaims(claims);
  const changed = convertClaims(changes).entries;
  return lazyMap(
    () => new Set([...entries.keys(), ...changed.keys()]),
    (name) => changed.get(name) ?? entries.get(name),
  );
}

interface ConvertedClaims {
  readonly entries: ReadonlyMap<string, Value>;
  readonly value: Value;
}

function convertClaims(
  claims: Readonly<Record<string, unknown>>,
): ConvertedClaims {
  const known = converted.get(claims);
  if (known !== undefined) return known;
  const entries = entriesOf(claims, { left: MAX_VALUES }, MAX_DEPTH);
  const value = { entries, value: mapValue(entries) };
  converted.set(claims, value);
  return value;
}

const converted = new WeakMap<object, ConvertedClaims>();

/**
 * Converts a result of `JSON.parse`, like claims; it may be any value.
 * @throws {RangeError} If it is nested too deeply, or has too many values.
 */
export function jsonValue(json: unknown): Value {
  const room = { left: MAX_VALUES };
  const isObject = typeof json === "object" && json !== null &&
    !Array.isArray(json);
  return isObject
    ? mapValue(entriesOf(json, room, MAX_DEPTH))
    : convert(json, room, MAX_DEPTH);
}

/** Remaining number of values. */
interface Room {
  left: number;
}

function entriesOf(
  object: object,
  room: Room,
  depth: number,
): ReadonlyMap<string, Value> {
  return new Map(
    Object.entries(object).map((
      [name, value],
    ) => [name, convert(value, room, depth - 1)]),
  );
}

function convert(json: unknown, room: Room, depth: number): Value {
  if (depth < 0 || --room.left < 0) {
    throw new RangeError("the claims are nested too deeply or too many");
  }
  switch (typeof json) {
    case "string":
    case "boolean":
      return json;
    case "number":
      return Number.isSafeInteger(json) ? BigInt(json) : json;
    case "object":
      if (json === null) return null;
      return Array.isArray(json)
        ? json.map((item) => convert(item, room, depth - 1))
        : opaqueMap(entriesOf(json, room, depth));
    default:
      return null;
  }
}

/**
 * Creates a map whose values are read on first use.
 * @param read Returns `undefined` for names that the map does not have.
 */
export function lazyMap(
  names: () => Iterable<string>,
  read: (name: string) => Value | undefined,
): Value {
  return mapValue(new LazyEntries(names, read));
}

class LazyEntries implements ReadonlyMap<string, Value> {
  readonly #names: () => Iterable<string>;
  readonly #read: (name: string) => Value | undefined;

  constructor(
    names: () => Iterable<string>,
    read: (name: string) => Value | undefined,
  ) {
    this.#names = names;
    this.#read = read;
  }

  /** Returns `undefined` for keys of other types. */
  get(name: unknown): Value | undefined {
    return typeof name === "string" ? this.#read(name) : undefined;
  }

  has(name: unknown): boolean {
    return this.get(name) !== undefined;
  }

  get size(): number {
    return [...this.keys()].length;
  }

  *keys(): MapIterator<string> {
    for (const name of this.#names()) {
      if (this.has(name)) yield name;
    }
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const name of this.#names()) {
      const value = this.#read(name);
      if (value !== undefined) yield [name, value];
    }
  }

  forEach(
    visit: (
      value: Value,
      name: string,
      map: ReadonlyMap<string, Value>,
    ) => void,
  ): void {
    for (const [name, value] of this.entries()) visit(value, name, this);
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }
}
