/** Trees of calls. */
import type { UiResponses } from "../../../responses.ts";

type Sample = UiResponses["profiles/*"]["samples"][number];

/** A call with the calls that it makes. */
export interface Call {
  readonly name: string;
  readonly total: number;
  readonly children: ReadonlyMap<string, Call>;
}

interface GrowingCall {
  readonly name: string;
  total: number;
  readonly children: Map<string, GrowingCall>;
}

/** Amounts of a function: its own, and with all that it calls. */
export interface FunctionAmounts {
  readonly name: string;
  readonly own: number;
  readonly total: number;
}

/** Merges stacks into a tree. */
export function buildTree(samples: readonly Sample[]): Call {
  const root: GrowingCall = { name: "all", total: 0, children: new Map() };
  for (const { value, frames } of samples) {
    root.total += value;
    let node = root;
    for (const name of frames) {
      let child = node.children.get(name);
      if (child === undefined) {
        child = { name, total: 0, children: new Map() };
        node.children.set(name, child);
      }
      child.total += value;
      node = child;
    }
  }
  return root;
}

/** Returns functions with their own and total amounts, largest own amount first. */
export function hottest(samples: readonly Sample[]): FunctionAmounts[] {
  const functions = new Map<
    string,
    { name: string; own: number; total: number }
  >();
  const of = (name: string) => {
    const known = functions.get(name) ?? { name, own: 0, total: 0 };
    functions.set(name, known);
    return known;
  };
  for (const { value, frames } of samples) {
    // Recursive calls count once.
    for (const name of new Set(frames)) of(name).total += value;
    const last = frames.at(-1);
    if (last !== undefined) of(last).own += value;
  }
  return [...functions.values()].toSorted((a, b) => b.own - a.own);
}

/** Returns the total of calls below `node` whose lower-case name contains `text`; nested calls count once. */
export function totalOf(node: Call, text: string): number {
  let total = 0;
  for (const child of node.children.values()) {
    const matches = child.name.toLowerCase().includes(text);
    total += matches ? child.total : totalOf(child, text);
  }
  return total;
}

/** A call in a picture; `left` and `width` are shares of it. */
export interface PlacedCall {
  /** Calls from the outermost to this one. */
  readonly path: readonly Call[];
  readonly call: Call;
  readonly left: number;
  readonly width: number;
}

/** Narrower calls would be neither visible nor clickable. */
const MIN_SHARE = 0.003;

/** Lays out the last call of `path` at full width, below its callers; a call precedes the calls that it makes. */
export function layOut(path: readonly Call[]): readonly PlacedCall[] {
  const placed: PlacedCall[] = [];
  const place = (
    call: Call,
    way: readonly Call[],
    left: number,
    width: number,
  ) => {
    placed.push({ path: way, call, left, width });
    let at = left;
    for (const child of call.children.values()) {
      const share = (width * child.total) / Math.max(call.total, 1);
      if (share >= MIN_SHARE) place(child, [...way, child], at, share);
      at += share;
    }
  };
  for (const [depth, call] of path.slice(0, -1).entries()) {
    placed.push({ path: path.slice(0, depth + 1), call, left: 0, width: 1 });
  }
  const last = path.at(-1);
  if (last !== undefined) place(last, path, 0, 1);
  return placed;
}

/** Hashes a name to one of `colors` numbers, so that a function has the same color everywhere. */
export function colorOf(name: string, colors: number): number {
  let value = 0;
  for (const character of name) {
    value = (value * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return value % colors;
}
