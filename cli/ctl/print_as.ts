import { print } from "../output.ts";

/** Prints data for programs. */
export async function printAs(
  format: "yaml" | "json",
  value: unknown,
): Promise<void> {
  if (format === "json") {
    return await print(visibleJson(JSON.stringify(value, null, 2)) + "\n");
  }
  const { printYaml } = await import("../../src/config/yaml.ts");
  await print(await printYaml(value));
}

/** The same JSON with escapes for what a terminal might obey. */
export function visibleJson(text: string): string {
  return text.replace(invisible, escape);
}

/** What JSON may hold as it is, and a terminal may obey; as `printable` has it, but for line breaks. */
const invisible = /[^\P{C}\n]|[\u2028\u2029]/gu;

function escape(text: string): string {
  return text.split("").map((unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  ).join("");
}

/** Rows with their columns below each other; the first is the title. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ").trimEnd() +
    "\n"
  ).join("");
}

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
