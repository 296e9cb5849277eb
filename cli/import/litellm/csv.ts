import { parseJson } from "../../../src/base/json.ts";

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

/** Reads a cell: JSON, an array of PostgreSQL, or a string; numbers stay strings, since IDs may have digits only. */
export function valueOfCell(cell: string): unknown {
  if (cell === "" || cell === "NULL" || cell === "\\N") return null;
  if (cell === "t" || cell === "f") return cell === "t";
  if (Number.isFinite(Number(cell))) return cell;
  return parseJson(cell) ?? (/^\{.*\}$/s.test(cell) ? arrayOf(cell) : cell);
}

/** Reads an array such as `{gpt-4o,"claude 3"}`. */
function arrayOf(text: string): readonly string[] {
  const items = text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs);
  return Array.from(
    items,
    ([plain, quoted]) => quoted?.replaceAll(/\\(.)/gs, "$1") ?? plain,
  );
}
