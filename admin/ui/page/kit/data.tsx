/** Shows data: figures, facts, tables, JSON, times. */
import { dateTime, timeOfDay } from "./format.ts";
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
  const text = dateTime(date);
  return (
    <time dateTime={at} title={text}>{isShort ? timeOfDay(date) : text}</time>
  );
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
