import { decodeShared } from "../state/decode_message.ts";

/** A part of a list after a change: items that stay, from the first to before the last index, or others. */
type ListPart =
  | { readonly from: number; readonly to: number }
  | { readonly items: readonly unknown[] };

/** An object with lists as a change of an earlier one: lists by the items that are new, other fields as they are. */
export type FieldsChange = Readonly<
  Record<
    string,
    { readonly parts: readonly ListPart[] } | { readonly value: unknown }
  >
>;

/** Describes `after` as a change of `before`. Items of lists that stay are identical, and are not in the result. */
export function diffFields<T extends object>(
  before: T,
  after: T,
): FieldsChange {
  const earlier = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(after).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value)
        ? { parts: diffList(listOf(earlier.get(name)), value) }
        : { value },
    ]),
  );
}

/** Returns the object that `change` describes. */
export function patchFields<T extends object>(
  before: T,
  change: FieldsChange,
): T {
  const earlier = new Map<string, unknown>(Object.entries(before));
  return decodeShared(Object.fromEntries(
    Object.entries(change).map(([name, field]) => [
      name,
      "parts" in field
        ? patchList(listOf(earlier.get(name)), field.parts)
        : field.value,
    ]),
  ));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function diffList(
  before: readonly unknown[],
  after: readonly unknown[],
): readonly ListPart[] {
  const places = new Map(before.map((item, index) => [item, index]));
  const parts: ({ from: number; to: number } | { items: unknown[] })[] = [];
  for (const item of after) {
    const place = places.get(item);
    const last = parts.at(-1);
    if (place === undefined) {
      if (last !== undefined && "items" in last) last.items.push(item);
      else parts.push({ items: [item] });
    } else if (last !== undefined && "to" in last && last.to === place) {
      last.to++;
    } else parts.push({ from: place, to: place + 1 });
  }
  return parts;
}

function patchList(
  before: readonly unknown[],
  parts: readonly ListPart[],
): readonly unknown[] {
  return parts.flatMap((part) =>
    "items" in part ? part.items : before.slice(part.from, part.to)
  );
}
