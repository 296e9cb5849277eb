/**
 * Makes control characters visible, which could move the cursor, change colors or reorder a line.
 *
 * Traces contain data of clients and upstreams, so all of it must pass through this function before it reaches a terminal.
 */
export function printable(text: string): string {
  return unsafe.test(text) ? text.replaceAll(unsafeAll, show) : text;
}

/** Applies `printable` to each line. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

// Control, format (such as bidirectional), private and unassigned characters, lone surrogates, line separators.
const unsafe = /[\p{C}\u2028\u2029]/u;
const unsafeAll = new RegExp(unsafe, "gu");

function show(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === "\t") return " ";
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\\u{${code.toString(16)}}`;
}

/** Escapes characters in JSON that a terminal might interpret; keeps line breaks, which occur only between values. */
export function printableJson(text: string): string {
  return text.replace(unsafeInJson, escape);
}

const unsafeInJson = /[^\P{C}\n]|[\u2028\u2029]/gu;

function escape(character: string): string {
  return character.split("").map((unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  ).join("");
}
