/** Format of log lines. */
export type LogFormat = "text" | "json";

// Control and format characters and all line separators: a line reader or a terminal would interpret them.
const dangerous = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
// Everything except printable ASCII, and also space, quote, equals sign and backslash.
const needsQuotes = /[^\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]/;

/** Formats ` key=value`; quotes the value as in JSON unless it is a plain word. */
export function formatField(
  key: string,
  value: string | number | boolean,
): string {
  if (typeof value === "number") return ` ${key}=${formatNumber(value)}`;
  if (typeof value !== "string") return ` ${key}=${value}`;
  return value !== "" && !needsQuotes.test(value)
    ? ` ${key}=${value}`
    : ` ${key}=${quote(value)}`;
}

/** Escapes characters that could end the line or control a terminal. */
export function escapeControls(text: string): string {
  return text.replace(dangerous, escapeCharacter);
}

/** Formats a JSON string that is safe to print. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/** Formats a time as RFC 3339 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
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
/** Billionths of a US dollar in a dollar: amounts of money are whole numbers of them. */
export const NANO_USD = 1e9;

/** Formats a number without a negative exponent, as not every reader knows them: `0.0000003` for `3e-7`. */
export function formatNumber(value: number): string {
  const text = String(value);
  const [, sign = "", digits, fraction = "", exponent] = small.exec(text) ?? [];
  if (digits === undefined) return text;
  const zeros = "0".repeat(Number(exponent) - 1);
  return `${sign}0.${zeros}${digits}${fraction}`;
}

/** Numbers below this are not amounts of anything, and would have many zeros. */
const small = /^(-?)(\d)(?:\.(\d+))?e-(\d|1\d|2[0-4])$/;

/** Formats an amount of money in US dollars without an exponent, such as `0.000125`. */
export function formatUsd(nanoUsd: number): string {
  return (nanoUsd / NANO_USD).toFixed(9).replace(/\.?0+$/, "");
}

const MAX_VALUES = 3;
const MAX_VALUE_LENGTH = 200;

/** Formats untrusted strings for log and trace: `"a", "b", "c" and 4 more`; truncates each and escapes control characters. */
export function showValues(values: readonly string[]): string {
  if (values.length === 0) return "nothing";
  const shown = values.slice(0, MAX_VALUES).map((value) =>
    quote(
      value.length > MAX_VALUE_LENGTH
        ? `${value.slice(0, MAX_VALUE_LENGTH)}…`
        : value,
    )
  );
  const more = values.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Formats actual and accepted values: `has "a", expected one of "b", "c"`. */
export function compareValues(
  found: string,
  accepted: readonly string[],
): string {
  const choice = accepted.length > 1 ? "one of " : "";
  return `${found}, expected ${choice}${showValues(accepted)}`;
}
