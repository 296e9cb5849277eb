import { fit, widthOf } from "./columns.ts";
import { fieldOf } from "./json_fields.ts";
import { printable } from "./printable.ts";

/** Formats rows of printable strings with aligned columns; the first row has the titles. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => widthOf(row[at] ?? "")))
  );
  return rows.map((row) =>
    row.map((text, at) => fit(text, widths[at] ?? 0)).join("  ").trimEnd() +
    "\n"
  ).join("");
}

/** A column of a table about JSON of unknown shape: a field of each row, or a function of it. */
export type Column = readonly [
  title: string,
  cell: string | ((row: unknown) => unknown),
];

/** Formats JSON of unknown shape as a table; `absent` stands in for missing values. */
export function tableOfJson(
  columns: readonly Column[],
  rows: readonly unknown[],
  absent = "",
): string {
  const cellOf = (row: unknown, cell: Column[1]) =>
    printable(
      String(
        (typeof cell === "string" ? fieldOf(row, cell) : cell(row)) ?? absent,
      ),
    );
  return tableOf([
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, cell]) => cellOf(row, cell))),
  ]);
}
