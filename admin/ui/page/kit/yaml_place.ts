/** Finds the place of a text in a YAML document that is being written and may be incomplete. */

/** A place in a document. */
export interface YamlPlace {
  /** Keys that lead to the map or list around it; `*` stands for an item of a list. */
  readonly path: readonly string[];
  /** The key whose value is here; not set where a key is. */
  readonly key?: string;
  /** The word before the place, without quotes. */
  readonly word: string;
}

/** Stands for an item of a list in a path. */
export const ITEM = "*";

/** A key or the dash of an item at the beginning of a line. */
interface Mark {
  readonly column: number;
  /** `*` for a dash. */
  readonly name: string;
}

const keyPattern = /^("[^"]*"|'[^']*'|[^\s"'#[\]{},&*!|>%@`-][^#:,]*):(?=\s|$)/;

/** Returns the place at an offset. Brackets over several lines count from their last line on. */
export function placeAt(text: string, offset: number): YamlPlace {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const line = text.slice(start, offset);
  const { marks, rest } = marksOf(line);
  const [first] = marks;
  const column = first?.column ?? line.length - line.trimStart().length;
  const parents = parentsOf(text.slice(0, start), {
    column,
    isItem: first?.name === ITEM,
  });
  const flow = flowOf(rest);
  const own = [...marks.map(({ name }) => name), ...flow.path];
  const { word } = flow;
  if (flow.isKey) return { path: [...parents, ...own], word };
  const key = own.at(-1);
  return key === undefined || key === ITEM
    ? { path: [...parents, ...own], word }
    : { path: [...parents, ...own.slice(0, -1)], key, word };
}

function marksOf(line: string): { marks: readonly Mark[]; rest: string } {
  const marks: Mark[] = [];
  let rest = line.trimStart();
  const columnOf = () => line.length - rest.length;
  for (let dash = /^- +/.exec(rest); dash; dash = /^- +/.exec(rest)) {
    marks.push({ column: columnOf(), name: ITEM });
    rest = rest.slice(dash[0].length);
  }
  const key = keyPattern.exec(rest);
  if (key?.[1] !== undefined) {
    marks.push({ column: columnOf(), name: unquote(key[1]) });
    rest = rest.slice(key[0].length);
  }
  return { marks, rest };
}

/** Returns the keys and items of the lines above that a line is part of. */
function parentsOf(
  above: string,
  { column, isItem }: { column: number; isItem: boolean },
): readonly string[] {
  const path: string[] = [];
  let limit = { column, isItem };
  for (const line of above.split("\n").reverse()) {
    if (limit.column === 0 && !limit.isItem) break;
    if (/^\s*(#|$)/.test(line)) continue;
    for (const mark of marksOf(line).marks.toReversed()) {
      // A list may be as far to the left as the key that has it.
      const isParent = mark.column < limit.column ||
        mark.column === limit.column && limit.isItem && mark.name !== ITEM;
      if (!isParent) continue;
      path.unshift(mark.name);
      limit = { column: mark.column, isItem: mark.name === ITEM };
    }
  }
  return path;
}

interface Flow {
  readonly path: readonly string[];
  readonly word: string;
  readonly isKey: boolean;
}

/** Reads what follows the key of a line: a value, or brackets that are still open. */
function flowOf(rest: string): Flow {
  const open: { isMap: boolean; key?: string }[] = [];
  let word = "";
  for (
    const [token] of rest.matchAll(
      /"[^"]*"?|'[^']*'?|[{}[\],]|:(?=\s|$)|[^\s{}[\],:"']+(?::[^\s{}[\],:"']+)*|\s+/g,
    )
  ) {
    const last = open.at(-1);
    if (token === "{" || token === "[") open.push({ isMap: token === "{" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && last !== undefined) delete last.key;
    else if (token === ":" && last?.isMap) last.key = word;
    if (/^\s/.test(token)) continue;
    word = /^[{}[\],:]$/.test(token) ? "" : unquote(token);
  }
  if (/\s$/.test(rest)) word = "";
  const path = open.flatMap(({ isMap, key }) =>
    isMap ? key === undefined ? [] : [key] : [ITEM]
  );
  const last = open.at(-1);
  return { path, word, isKey: last?.isMap === true && last.key === undefined };
}

function unquote(text: string): string {
  return text.replace(/^["']|["']$/g, "");
}
