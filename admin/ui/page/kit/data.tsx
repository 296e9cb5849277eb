/** Shows data: figures, facts, tables, JSON, times. */
import type { ComponentChildren } from "./framework.ts";
import type { Tone } from "./layout.tsx";

/** One figure. */
export type Figure = readonly [
  label: string,
  value: ComponentChildren,
  /** A smaller text under the value. */
  detail?: ComponentChildren,
  tone?: Tone | undefined,
];

/** A row of figures. */
export function Stats({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="stats">
      {figures.map(([label, value, detail, tone]) => (
        <div key={label} class={tone === undefined ? "stat" : `stat ${tone}`}>
          <dt>{label}</dt>
          <dd>{value}</dd>
          {detail !== undefined && <dd class="stat-detail">{detail}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Pairs of names and values, in columns. */
export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

interface FactProps {
  readonly name: string;
  /** A dash stands in for nothing. */
  readonly children?: ComponentChildren;
}

/** A name with its value, within `Facts`. */
export function Fact({ name, children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children ?? "–"}</dd>
    </div>
  );
}

/** A column of a table; the first one has the headers of the rows. */
export type Column<T> = readonly [
  title: string,
  cell: (row: T) => ComponentChildren,
  /** `number` aligns figures at the right; a `wide` column has the space that is left, a `name` enough for most names. */
  kind?: "number" | "wide" | "name",
];

interface TableProps<T> {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string | number;
  /** Marks the row that is shown elsewhere on the page. */
  readonly isSelected?: (row: T) => boolean;
}

/** A table for up to some hundred rows. On narrow screens it scrolls sideways by itself. */
export function Table<T>(
  { label, columns, rows, keyOf, isSelected }: TableProps<T>,
) {
  return (
    // Focusable, so that it can be scrolled with the keyboard.
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      <table>
        <caption class="unseen">{label}</caption>
        <thead>
          <tr>
            {columns.map(([title, , kind]) => (
              <th key={title} scope="col" class={kind}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr
              key={keyOf(row, index)}
              aria-current={isSelected?.(row) ? "true" : undefined}
            >
              {columns.map(([title, cell, kind], at) =>
                at === 0
                  ? <th key={title} scope="row" class={kind}>{cell(row)}</th>
                  : <td key={title} class={kind}>{cell(row)}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CodeProps {
  /** Text, or a value that is shown as indented JSON. */
  readonly value: unknown;
  /** Names the block for screen readers. */
  readonly label: string;
}

/** A block of text or JSON that can be scrolled with the keyboard. */
export function Code({ value, label }: CodeProps) {
  const text = typeof value === "string"
    ? value
    : JSON.stringify(value, undefined, 2) ?? "";
  return <pre tabIndex={0} role="region" aria-label={label}>{text}</pre>;
}

/** A sentence whose backquoted parts are code. */
export function Sentence({ text }: { readonly text: string }) {
  const parts = text.split("`");
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 1 ? <code key={index}>{part}</code> : part
      )}
    </>
  );
}

interface TimeProps {
  /** RFC 3339. */
  readonly at: string;
  /** Omits the date. */
  readonly isShort?: boolean;
}

/** A time in the language of the browser, with its machine-readable value. */
export function Time({ at, isShort = false }: TimeProps) {
  const date = new Date(at);
  const text = isShort
    ? date.toLocaleTimeString(undefined, { timeStyle: "medium" })
    : date.toLocaleString(undefined, {
      dateStyle: "medium",
      timeStyle: "medium",
    });
  return <time dateTime={at} title={date.toLocaleString()}>{text}</time>;
}

interface MeterProps {
  /** Names the bar for screen readers. */
  readonly label: string;
  readonly value: number;
  readonly max: number;
  /** The value in words. */
  readonly text: string;
  readonly tone?: Tone;
}

/** A bar that shows a share of a whole. */
export function Meter({ label, value, max, text, tone = "good" }: MeterProps) {
  const share = max > 0 ? Math.min(1, Math.max(0, value) / max) : 0;
  return (
    <div
      class={`bar ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.max(0, value)}
      aria-valuetext={text}
    >
      <span style={{ width: `${share * 100}%` }} />
    </div>
  );
}

interface WaterfallProps {
  /** Shares of the whole, between 0 and 1. */
  readonly from: number;
  readonly to: number;
  /** Class of its color. */
  readonly tone?: string;
}

/** A bar for a part of a time; a column of times says the same in numbers. */
export function Waterfall({ from, to, tone = "" }: WaterfallProps) {
  // Even what happens at the end is visible.
  const left = `${Math.min(99, from * 100)}%`;
  const width = `${Math.max(0.8, (to - from) * 100)}%`;
  return (
    <span class={`waterfall ${tone}`.trim()} aria-hidden="true">
      <span style={{ left, width }} />
    </span>
  );
}
