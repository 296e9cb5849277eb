import { Buffer } from "node:buffer";

/** The values to read, by name: `{ params: { name: WHOLE } }` for `params.name`. */
export type JsonShape = typeof WHOLE | JsonMembers | JsonItems;

/** The items of a list: `{ tools: [{ name: WHOLE }] }` reads the names of all tools. */
export type JsonItems = readonly [JsonShape];

/** The members of an object to read. */
export interface JsonMembers {
  readonly [name: string]: JsonShape;
}

/** Reads a value with all that is in it. */
export const WHOLE = "whole";

/** Returns the shape that holds what both hold. */
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

/** A member to read, as it is looked up. */
export interface WantedMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The bytes in lower case. */
  readonly folded: Uint8Array;
  readonly value: WantedValue;
}

/** Makes the members of a shape ready to be looked up. */
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

  constructor(shape: JsonShape) {
    this.wanted = wantedValue(shape);
  }
}

/** Bytes of ASCII in lower case; 0 for those that make a name one to decode: backslashes and all beyond ASCII. */
const folding = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80 || byte === 0x5c) return 0;
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
});

/** Reports whether the bytes of a name between its quotes have to be decoded before it can be compared. */
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

/** Finds the member that a server might take for one of that name: some servers ignore case. */
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

/** Reports whether the bytes at `start` are the name of the member as it is, in the same case. */
export function isSpelled(
  { bytes: name }: WantedMember,
  bytes: Uint8Array,
  start: number,
): boolean {
  return name.every((byte, index) => bytes[start + index] === byte);
}

/** As `findPlain`, for a decoded name. */
export function findDecoded(
  wanted: readonly WantedMember[],
  name: string,
): WantedMember | undefined {
  const folded = foldName(name);
  return wanted.find((member) => foldName(member.name) === folded);
}

/** Names with the same result are one name to servers that ignore case. Both ways, because the long s only folds in one. */
export function foldName(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Sets a member of its own, also one called `__proto__`. */
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
