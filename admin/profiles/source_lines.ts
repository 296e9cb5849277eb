import { findSourceMap, SourceMap } from "node:module";

/** A place in a file. */
export interface SourceLine {
  /** Of ours, as in the repository: `src/proxy/pipeline.ts`. Else as short as possible. */
  readonly file: string;
  /** From 1; 0 when nobody knows. */
  readonly line: number;
}

/** What the build puts before the source map at the end of the executable's program; see `.ci/source_map.ts`. */
const MARKER = "\n//# gateway source map ";

/**
 * Finds the line that somebody wrote for one that runs.
 *
 * Deno keeps a source map of what it made of TypeScript. The program in the executable holds its own, which Deno does not know:
 * it would keep it in memory.
 */
export class SourceLines {
  readonly #maps = new Map<string, SourceMap | undefined>();
  readonly #root = new URL("../../", import.meta.url).href;

  /** @param line From 0, as V8 counts. */
  find(url: string, line: number): SourceLine {
    const map = this.#mapOf(url);
    // The last column: a line that was made from several counts as the last of them.
    const entry = map?.findEntry(line, 1_000_000);
    if (
      entry !== undefined && "originalSource" in entry &&
      entry.generatedLine === line
    ) {
      return {
        file: this.#shorten(entry.originalSource),
        line: entry.originalLine + 1,
      };
    }
    return { file: this.#shorten(url), line: line + 1 };
  }

  #mapOf(url: string): SourceMap | undefined {
    if (!url.startsWith("file:")) return undefined;
    if (this.#maps.has(url)) return this.#maps.get(url);
    const path = decodeURIComponent(new URL(url).pathname);
    const map = findSourceMap(path) ??
      (url === import.meta.url ? readOwnMap(path) : undefined);
    this.#maps.set(url, map);
    return map;
  }

  #shorten(file: string): string {
    if (file.startsWith(this.#root)) return file.slice(this.#root.length);
    const [, inPackage] = /\/npm\/[^/]+\/(.+)$/.exec(file) ?? [];
    return inPackage === undefined ? file : `npm:${inPackage}`;
  }
}

/** `undefined` in a program without one, and where it cannot be read any more: the lines of the program will do. */
function readOwnMap(path: string): SourceMap | undefined {
  try {
    const program = Deno.readTextFileSync(path);
    const at = program.lastIndexOf(MARKER);
    if (at < 0) return undefined;
    return new SourceMap(JSON.parse(program.slice(at + MARKER.length)));
  } catch {
    return undefined;
  }
}
