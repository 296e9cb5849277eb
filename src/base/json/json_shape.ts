import { Buffer } from "node:buffer";

/** The values to read, by name: `{ params: { name: WHOLE } }` for `params.name`. */
export type JsonShape = typeof WHOLE | JsonMembers | JsonItems;

/** The items of a list: `{ tools: [{ name: WHOLE }] }` reads the names of all tools. */
export type JsonItems = readonly [JsonShape];

/** The members of an object to read. */
export interface JsonMembers {
  readonly [name: string]: JsonShape;
}

/** Reads a whole value. */
export const WHOLE = "whole";

/** Returns the union of two shapes. */
export function joinShapes(a: JsonShape, b: JsonShape): JsonShape {
  if (a === WHOLE || b === WHOLE) return WHOLE;
  if (isItems(a) || isItems(b)) {
    return isItems(a) && isItems(b) ? [joinShapes(a[0], b[0])] : WHOLE;
  }
  const joined = new Map(Object.entries(a));
  for (const [name, shape] of Object.entries(b)) {
    const known = joined.get(name);
    joined.set(name, known === undefined ? shape : joinShapes(known, shape));
  }
  return Object.fromEntries(joined);
}

function isItems(shape: JsonMembers | JsonItems): shape is JsonItems {
  return Array.isArray(shape);
}

/** A value to read: as a whole, or parts of an object or of a list. */
export type WantedValue = typeof WHOLE | WantedMembers | WantedItems;

/** The parts to read of an object. */
export interface WantedMembers {
  readonly members: readonly WantedMember[];
  readonly items?: never;
}

/** The parts to read of each item of a list. */
export interface WantedItems {
  readonly members?: never;
  readonly items: WantedValue;
}

/** A member to read, prepared for look-ups. */
export interface WantedMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Bytes of the name in lower case. */
  readonly folded: Uint8Array;
  readonly value: WantedValue;
}

/** Prepares the members of a shape for look-ups. */
function wantedValue(shape: JsonShape): WantedValue {
  if (shape === WHOLE) return WHOLE;
  if (isItems(shape)) return { items: wantedValue(shape[0]) };
  const members = Object.entries(shape).map(([name, inner]) => ({
    name,
    bytes: Buffer.from(name),
    folded: Buffer.from(name.toLowerCase()),
    value: wantedValue(inner),
  }));
  return { members };
}

/** The values that `readJson` reads, compiled once. */
export class JsonSelection {
  readonly wanted: WantedValue;

  /** @param maxValues Limit of all values of the text, for a text that is parsed afterwards. */
  constructor(shape: JsonShape, readonly maxValues = Infinity) {
    this.wanted = wantedValue(shape);
  }
}

/** ASCII bytes in lower case; 0 for bytes of names that must be decoded: backslashes and non-ASCII. */
const folding = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80 || byte === 0x5c) return 0;
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
});

/** Returns whether a name must be decoded before it is compared. */
export function needsDecoding(
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  for (let at = start; at < end; at++) {
    if (folding[bytes[at] ?? 0] === 0) return true;
  }
  return false;
}

/** Finds the member that a server might read for this name: some servers ignore case. */
export function findPlain(
  wanted: readonly WantedMember[],
  bytes: Uint8Array,
  start: number,
  end: number,
): WantedMember | undefined {
  for (const member of wanted) {
    if (matches(member.folded, bytes, start, end)) return member;
  }
  return undefined;
}

function matches(
  folded: Uint8Array,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (folded.length !== end - start) return false;
  for (let i = 0; i < folded.length; i++) {
    if (folding[bytes[start + i] ?? 0] !== folded[i]) return false;
  }
  return true;
}

/** Returns whether the bytes at `start` are the name of the member in the same case. */
export function isSpelled(
  { bytes: name }: WantedMember,
  bytes: Uint8Array,
  start: number,
): boolean {
  return name.every((byte, index) => bytes[start + index] === byte);
}

/** Finds a member by its decoded name, like `findPlain`. */
export function findDecoded(
  wanted: readonly WantedMember[],
  name: string,
): WantedMember | undefined {
  const folded = foldName(name);
  return wanted.find((member) => foldName(member.name) === folded);
}

/** Folds the case of a name, as servers do that ignore case. In both directions, because the long s folds only in one. */
export function foldName(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Sets an own member, even `__proto__`. */
export function setMember(
  object: Record<string, unknown>,
  name: string,
  value: unknown,
): void {
  if (name !== "__proto__") object[name] = value;
  else {
    Object.defineProperty(object, name, { value, enumerable: true });
  }
}
