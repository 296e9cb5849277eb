/** One log line as text or JSON; without its line break. */
export type LogFormat = "text" | "json";

// Control and format characters and line breaks of every kind: what a line reader or a terminal acts on.
const dangerous = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
// Anything but printable ASCII without space, quote, equals sign and backslash.
const needsQuotes = /[^\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]/;

/** ` key=value`, the value quoted as in JSON unless it is one plain word. */
export function formatField(
  key: string,
  value: string | number | boolean,
): string {
  if (typeof value !== "string") return ` ${key}=${value}`;
  return value !== "" && !needsQuotes.test(value)
    ? ` ${key}=${value}`
    : ` ${key}=${quote(value)}`;
}

/** `text` with every character escaped that could end the line or steer a terminal. */
export function escapeControls(text: string): string {
  return text.replace(dangerous, escapeCharacter);
}

/** A JSON string that is safe to print. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/** Time as RFC 3339 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function escapeCharacter(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (character === "\t") return "\\t";
  return character.split("").map(escapeUnit).join("");
}

function escapeUnit(unit: string): string {
  return "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
}
