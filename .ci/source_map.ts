import { SourceMap, type SourceMapPayload } from "node:module";

const DIGITS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ours = /^(?:src|admin|cli|main\.ts|worker\.ts)(?:\/|$)/;

/** A source map as written by `deno bundle`. */
export interface BundleMap extends SourceMapPayload {
  readonly sourcesContent: string[];
}

/**
 * Appends a source map, for profiles, as the last line of the program: the source of each line of ours, and nothing of packages.
 *
 * The line is a comment that Deno does not know, because Deno keeps the maps that it knows in memory from the start.
 * @param folder Folder of the sources, relative to the bundle: `../`.
 */
export function appendSourceMap(
  program: string,
  map: BundleMap,
  folder: string,
): string {
  const lines = program.split("\n");
  const finder = new LineFinder(map, lines);
  const sources = new Map<string, number>();
  const previous = { source: 0, line: 0 };
  const mappings = lines.map((_, line) => {
    const found = finder.find(line);
    if (found === undefined) return "";
    const source = found.source.replace(folder, "");
    // A column without a source.
    if (!ours.test(source)) return "A";
    const index = sources.get(source) ?? sources.size;
    sources.set(source, index);
    const segment = "A" + encode(index - previous.source) +
      encode(found.line - previous.line) + "A";
    previous.source = index;
    previous.line = found.line;
    return segment;
  });
  const small = {
    version: 3,
    sources: [...sources.keys()],
    names: [],
    mappings: mappings.join(";"),
  };
  return `${program.trimEnd()}\n//# gateway source map ${
    JSON.stringify(small)
  }\n`;
}

/**
 * Finds lines in the map of a bundle. `deno bundle` changes the first lines of esbuild's output but not the map, so all lines are
 * shifted by a few: by the number with which most lines equal their source.
 */
class LineFinder {
  readonly #map: SourceMap;
  readonly #shift: number;

  constructor(map: BundleMap, lines: readonly string[]) {
    this.#map = new SourceMap(map);
    const texts = new Map(
      map.sources.map((
        source,
        at,
      ) => [source, (map.sourcesContent[at] ?? "").split("\n")]),
    );
    const count = (shift: number) =>
      lines.filter((text, line) => {
        // Short lines equal many others.
        if (line % 20 !== 0 || text.trim().length < 20) return false;
        const found = this.#findIn(line + shift);
        if (found === undefined) return false;
        return texts.get(found.source)?.[found.line]?.trim() === text.trim();
      }).length;
    const shifts = Array.from({ length: 41 }, (_, at) => at - 20);
    const counted = shifts.map((shift) => ({ shift, equal: count(shift) }));
    const [best, second] = counted.sort((a, b) => b.equal - a.equal);
    if (
      best === undefined || second === undefined ||
      best.equal < 5 * second.equal
    ) throw new Error("Cannot tell by how much the source map is shifted");
    this.#shift = best.shift;
  }

  find(line: number): { source: string; line: number } | undefined {
    return this.#findIn(line + this.#shift);
  }

  #findIn(line: number): { source: string; line: number } | undefined {
    const entry = this.#map.findEntry(line, 1_000_000);
    if (!("originalSource" in entry) || entry.generatedLine !== line) {
      return undefined;
    }
    return { source: entry.originalSource, line: entry.originalLine };
  }
}

/** Base 64 VLQ, ECMA-426 section 6. */
function encode(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += DIGITS[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}
