import { mapValue, opaqueMap, type Value } from "./library.ts";

/** How deep claims and JSON may be nested. */
const MAX_DEPTH = 32;
/** How many values they may have in all. */
const MAX_VALUES = 20_000;

/**
 * Claims or metadata as an expression sees them: `key in jwt` asks for a claim; `key in jwt.claim`, `jwt.claim.exists(…)` and their
 * like only work on a list.
 *
 * Converted once per object. Names mean nothing here: `__proto__` is a claim like any other.
 * @throws {RangeError} When they are nested too deep or too many.
 */
export function claimsValue(claims: Readonly<Record<string, unknown>>): Value {
  const known = converted.get(claims);
  if (known !== undefined) return known;
  const value = mapValue(entriesOf(claims, { left: MAX_VALUES }, MAX_DEPTH));
  converted.set(claims, value);
  return value;
}

const converted = new WeakMap<object, Value>();

/**
 * What `JSON.parse` answered, as an expression sees it; like claims, but it may be no object.
 * @throws {RangeError} When it is nested too deep, or has too many values.
 */
export function jsonValue(json: unknown): Value {
  const room = { left: MAX_VALUES };
  const isObject = typeof json === "object" && json !== null &&
    !Array.isArray(json);
  return isObject
    ? mapValue(entriesOf(json, room, MAX_DEPTH))
    : convert(json, room, MAX_DEPTH);
}

/** For so many values more. */
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
    throw new RangeError("the claims are nested too deep or too many");
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
 * A map whose values are made when an expression asks for them.
 * @param read Answers `undefined` for names that the map does not have.
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

  /** Also called with keys of other types, which the map never has. */
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
