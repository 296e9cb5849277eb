import type { TraceSeverity } from "../../src/telemetry/trace/trace_event.ts";

/** Semantic style of text. */
export type Style = TraceSeverity | "plain" | "strong" | "faint" | "reversed";

/** Printable text in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
  /** Reversed in addition to its style. */
  readonly isSelected?: boolean;
  /** Start column, from 0, if not right after the previous span: errors in character widths then do not accumulate. */
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

const colorless: Readonly<Record<Style, string>> = {
  ...attributes,
  success: "",
  warn: "",
  error: "1",
};

/** Formats a row with escape sequences. */
export function toTerminal(row: Row, hasColor: boolean): string {
  const table = hasColor ? attributes : colorless;
  return row.map(({ text, style, isSelected = false, at }) => {
    const move = at === undefined ? "" : `\x1b[${at + 1}G`;
    const attribute = [isSelected ? table.reversed : "", table[style]]
      .filter((each) => each !== "").join(";");
    return attribute === ""
      ? move + text
      : `${move}\x1b[${attribute}m${text}\x1b[0m`;
  }).join("");
}

/** Marks the matches of a search: they are reversed, or not where the whole line is. */
export function highlight(
  text: string,
  { style, query, isSelected }: {
    readonly style: Style;
    readonly query: string;
    readonly isSelected: boolean;
  },
): Row {
  if (query === "") return [{ text, style, isSelected }];
  const mark = isSelected ? "strong" : "reversed";
  const spans: Span[] = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(RegExp.escape(query), "giu"))) {
    const [found] = match;
    spans.push({ text: text.slice(from, match.index), style, isSelected });
    spans.push({ text: found, style: mark });
    from = match.index + found.length;
  }
  return [...spans, { text: text.slice(from), style, isSelected }];
}

/** Returns the first of `height` visible lines: the selected one is in the middle, except near both ends. */
export function firstVisible(
  length: number,
  selected: number,
  height: number,
): number {
  const last = Math.max(length - height, 0);
  return Math.min(Math.max(selected - Math.floor(height / 2), 0), last);
}
