import { printable } from "../output/printable.ts";

/** A field of JSON whose shape is not known; `undefined` without one. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** A list in JSON whose shape is not known; empty without one. */
export function listOf(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

/** A field of JSON as printable text; empty without one. */
export function textOf(value: unknown, name: string): string {
  return printable(String(fieldOf(value, name) ?? ""));
}
