import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import { Failure } from "../../process/exit.ts";
import { type ImportNote, SourceDocument } from "../parts/source_node.ts";
import { parseCsv, valueOfCell } from "./csv.ts";

/** A row of the table. */
export interface Row {
  readonly values: JsonObject;
  readonly line: number;
  readonly note: (message: string) => void;
}

/** Reads the rows of a table, as JSON or CSV. @throws {Failure} When it is neither. */
export function readRows(
  name: string,
  text: string,
  notes: ImportNote[],
): readonly Row[] {
  return /^\s*[[{]/.test(text)
    ? jsonRows(name, text, notes)
    : csvRows(name, text, notes);
}

function jsonRows(
  name: string,
  text: string,
  notes: ImportNote[],
): readonly Row[] {
  const value = parseJson(text);
  const document = new SourceDocument(name, text);
  const list = ["keys", "teams", "data"].find((key) =>
    isJsonObject(value) && Array.isArray(value[key])
  );
  const items = list === undefined ? value : Object(value)[list];
  const places = (list === undefined ? document.root : document.root.get(list))
    ?.items() ?? [];
  const pages = Number(Object(value)["total_pages"]);
  const pagesPlace = document.root.get("total_pages")?.place();
  if (pages > 1 && pagesPlace !== undefined) {
    const message =
      `total_pages: the file is one of ${pages} pages; import the others, too`;
    notes.push({ ...pagesPlace, message });
  }
  return (Array.isArray(items) ? items : []).flatMap((values, index) => {
    const place = places[index]?.place();
    if (!isJsonObject(values) || place === undefined) return [];
    return [{
      values,
      line: place.line,
      note: (message) => notes.push({ ...place, message }),
    }];
  });
}

function csvRows(
  name: string,
  text: string,
  notes: ImportNote[],
): readonly Row[] {
  const [header, ...records] = readRecords(name, text);
  const columns = header?.cells ?? [];
  return records.flatMap(({ cells, line }) => {
    const note = (message: string) =>
      void notes.push({ file: name, line, column: 1, message });
    if (cells.length !== columns.length) {
      note(`expected ${columns.length} cells; the row is left out`);
      return [];
    }
    const values = Object.fromEntries(
      columns.map((column, index) => [column, valueOfCell(cells[index] ?? "")]),
    );
    return [{ line, values, note }];
  });
}

function readRecords(name: string, text: string) {
  try {
    return parseCsv(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure(`Cannot import "${name}": ${error.message}`);
  }
}
