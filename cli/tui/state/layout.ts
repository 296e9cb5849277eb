/** Size of a terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A pane without its heading. */
export interface Pane {
  /** Left column, from 0. */
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

/** Layout of the panes; the first row is the title, the last two are status and help. */
export interface Layout {
  /** Panes are side by side, else one above the other. */
  readonly isWide: boolean;
  readonly events: Pane;
  readonly detail: Pane;
  /** Rows of the list of requests, which has the whole screen, with names of columns. */
  readonly list: Pane;
}

/** Minimum size. */
export const smallest: Size = { columns: 40, rows: 10 };

const WIDE_COLUMNS = 132;

/** Computes the layout for a size. */
export function layoutOf({ columns, rows }: Size): Layout {
  const isWide = columns >= WIDE_COLUMNS;
  // Title, status and help; then a heading for each pane.
  const height = Math.max(rows - 3 - (isWide ? 1 : 2), 0);
  const list = { left: 0, width: columns, height: Math.max(rows - 5, 0) };
  if (isWide) {
    const width = Math.floor(columns * 0.55);
    return {
      isWide,
      events: { left: 0, width, height },
      detail: { left: width + 2, width: columns - width - 2, height },
      list,
    };
  }
  const eventRows = Math.floor(height / 2);
  return {
    isWide,
    events: { left: 0, width: columns, height: eventRows },
    detail: { left: 0, width: columns, height: height - eventRows },
    list,
  };
}
