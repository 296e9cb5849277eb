import { quote } from "../base/log_text.ts";

const MAX_VALUES = 3;
const MAX_LENGTH = 200;

/** Formats untrusted strings for log and trace: `"a", "b", "c" and 4 more`; truncates each and escapes control characters. */
export function showValues(values: readonly string[]): string {
  if (values.length === 0) return "nothing";
  const shown = values.slice(0, MAX_VALUES).map((value) =>
    quote(value.length > MAX_LENGTH ? `${value.slice(0, MAX_LENGTH)}…` : value)
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
