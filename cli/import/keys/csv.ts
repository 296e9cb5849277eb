/** A record of a CSV file, and the line where it begins. */
export interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
}

/** Reads CSV with commas (RFC 4180); empty lines are left out. */
export function parseCsv(text: string): readonly CsvRecord[] {
  const records: CsvRecord[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  let cells: string[] = [];
  let line = 1;
  let start = 1;
  for (const [whole, quoted, plain = "", end] of text.matchAll(cell)) {
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split("\n").length - 1;
    if (end === ",") continue;
    if (cells.length > 1 || cells[0] !== "") {
      records.push({ cells, line: start });
    }
    cells = [];
    start = line;
  }
  return records;
}
