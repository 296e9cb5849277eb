/** Tables of any length. */
import type { ComponentChildren } from "./framework.ts";
import { useMemo, useState } from "./framework.ts";
import { useNextFrame } from "./frames.ts";
import { Button } from "./inputs.tsx";

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

/** Rows that are drawn in one frame. */
const FRAME_ROWS = 16;
/** Rows that are shown at first, and that are added on request. */
const SHOWN_ROWS = 100;

/**
 * A table that shows its first hundred rows, and more on request. The first rows are drawn at once, others in frames of their own.
 * On narrow screens it scrolls sideways by itself.
 */
export function Table<T>(props: TableProps<T>) {
  const { label, columns, rows } = props;
  const [most, setMost] = useState(SHOWN_ROWS);
  const shown = rows.slice(0, most);
  const others = rows.length - shown.length;
  const parts = Array.from(
    { length: Math.ceil(shown.length / FRAME_ROWS) },
    (_, part) => shown.slice(part * FRAME_ROWS, (part + 1) * FRAME_ROWS),
  );
  return (
    <>
      {/* Focusable, so that it can be scrolled with the keyboard. */}
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
          {parts.map((rows, part) =>
            part === 0
              ? <Rows key={part} {...props} rows={rows} />
              : <LaterRows key={part} {...props} rows={rows} />
          )}
        </table>
      </div>
      {others > 0 && (
        <p class="more-rows">
          <Button onPress={() => setMost(most + SHOWN_ROWS)}>
            Show {Math.min(others, SHOWN_ROWS)} more of {rows.length}
          </Button>
        </p>
      )}
    </>
  );
}

/** Rows that are drawn, and drawn again, in a frame of their own. */
function LaterRows<T>(props: TableProps<T>) {
  const drawn = useNextFrame(props);
  // The same element again: other frames do not draw them.
  return useMemo(() => drawn && <Rows {...drawn} />, [drawn]);
}

function Rows<T>({ columns, rows, keyOf, isSelected }: TableProps<T>) {
  return (
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
  );
}
