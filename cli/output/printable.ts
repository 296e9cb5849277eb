/**
 * Text that a terminal shows as it is: what could move the cursor, change colours or reorder a line becomes visible instead.
 *
 * Traces hold what clients and upstreams sent, so nothing of them reaches a terminal in another way.
 */
export function printable(text: string): string {
  return unsafe.test(text) ? text.replaceAll(unsafeAll, show) : text;
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

// Controls, formats such as reversed writing, lone surrogates, private and unassigned characters, line separators.
const unsafe = /[\p{C}\u2028\u2029]/u;
const unsafeAll = new RegExp(unsafe, "gu");

function show(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === "\t") return " ";
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\\u{${code.toString(16)}}`;
}

/** The same JSON with escapes for what a terminal might obey; with line breaks, which JSON has between its values only. */
export function printableJson(text: string): string {
  return text.replace(unsafeInJson, escape);
}

const unsafeInJson = /[^\P{C}\n]|[\u2028\u2029]/gu;

function escape(character: string): string {
  return character.split("").map((unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  ).join("");
}
