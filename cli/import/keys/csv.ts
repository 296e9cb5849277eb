/** A record of a CSV file, and the line where it begins. */
export interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
}

/**
 * Reads CSV with commas (RFC 4180); empty lines are left out.
 * @throws {SyntaxError} With the line of a cell with a quote in the wrong place.
 */
export function parseCsv(text: string): readonly CsvRecord[] {
  const records: CsvRecord[] = [];
  const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  let cells: string[] = [];
  let line = 1;
  let start = 1;
  let end = 0;
  for (const match of text.matchAll(cell)) {
    const [whole, quoted, plain = "", separator] = match;
    end = match.index + whole.length;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split("\n").length - 1;
    if (separator === ",") continue;
    if (cells.length > 1 || cells[0] !== "") {
      records.push({ cells, line: start });
    }
    cells = [];
    start = line;
  }
  if (end < text.length) {
    throw new SyntaxError(`line ${line}: a quote in the wrong place`);
  }
  return records;
}
