import type { TraceSeverity } from "../../src/telemetry/trace/trace_event.ts";

/** What a piece of text means, which decides how it looks. */
export type Style = TraceSeverity | "plain" | "strong" | "faint" | "reversed";

/** Text of one style that is safe to print. */
export interface Span {
  readonly text: string;
  readonly style: Style;
  /** Reversed, whatever its style is. */
  readonly isSelected?: boolean;
  /** Column to begin at, from 0, when not right after the span before: a width that was guessed wrong then shifts nothing. */
  readonly at?: number;
}

/** A row of the screen. */
export type Row = readonly Span[];

/** Parameters of the escape sequence "select graphic rendition" (ECMA-48). */
const attributes: Readonly<Record<Style, string>> = {
  plain: "",
  info: "",
  strong: "1",
  faint: "2",
  reversed: "7",
  success: "32",
  warn: "33",
  error: "31;1",
};

const colourless: Readonly<Record<Style, string>> = {
  ...attributes,
  success: "",
  warn: "",
  error: "1",
};

/** The bytes that show a row. */
export function toTerminal(row: Row, hasColour: boolean): string {
  const table = hasColour ? attributes : colourless;
  return row.map(({ text, style, isSelected = false, at }) => {
    const place = at === undefined ? "" : `\x1b[${at + 1}G`;
    const attribute = [isSelected ? table.reversed : "", table[style]]
      .filter((each) => each !== "").join(";");
    return attribute === ""
      ? place + text
      : `${place}\x1b[${attribute}m${text}\x1b[0m`;
  }).join("");
}
