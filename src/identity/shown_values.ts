import { quote } from "../base/log_text.ts";

const MAX_VALUES = 3;
const MAX_LENGTH = 200;

/** Texts of others for log and trace: `"a", "b", "c" and 4 more`; each is cut, and what could steer a terminal escaped. */
export function showValues(values: readonly string[]): string {
  if (values.length === 0) return "nothing";
  const shown = values.slice(0, MAX_VALUES).map((value) =>
    quote(value.length > MAX_LENGTH ? `${value.slice(0, MAX_LENGTH)}…` : value)
  );
  const more = values.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What was found and what would have been accepted: `has "a", expected one of "b", "c"`. */
export function compareValues(
  found: string,
  accepted: readonly string[],
): string {
  const choice = accepted.length > 1 ? "one of " : "";
  return `${found}, expected ${choice}${showValues(accepted)}`;
}
