import { fit, widthOf } from "./columns.ts";

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
