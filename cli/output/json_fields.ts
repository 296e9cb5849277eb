import { printable } from "./printable.ts";

/** Returns a field of JSON of unknown shape. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** Returns a list in JSON of unknown shape; empty if absent. */
export function listOf(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

/** Returns a field of JSON as a printable string; empty if absent. */
export function textOf(value: unknown, name: string): string {
  return printable(String(fieldOf(value, name) ?? ""));
}
