/** Of a terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A pane, without its heading. */
export interface Pane {
  /** Column of its left edge, from 0. */
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

/** Where things are; the first row is the title, the last two are status and help. */
export interface Layout {
  /** Side by side when there is room for both, else one above the other. */
  readonly isWide: boolean;
  readonly events: Pane;
  readonly detail: Pane;
}

/** Below this nothing sensible can be shown. */
export const smallest: Size = { columns: 40, rows: 10 };

const WIDE_COLUMNS = 132;

/** The same for the same size. */
export function layoutOf({ columns, rows }: Size): Layout {
  const isWide = columns >= WIDE_COLUMNS;
  // Title, status and help; then a heading for each pane.
  const height = Math.max(rows - 3 - (isWide ? 1 : 2), 0);
  if (isWide) {
    const width = Math.floor(columns * 0.55);
    return {
      isWide,
      events: { left: 0, width, height },
      detail: { left: width + 2, width: columns - width - 2, height },
    };
  }
  const eventRows = Math.floor(height / 2);
  return {
    isWide,
    events: { left: 0, width: columns, height: eventRows },
    detail: { left: 0, width: columns, height: height - eventRows },
  };
}
