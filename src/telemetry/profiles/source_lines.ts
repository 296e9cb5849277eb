import { findSourceMap, SourceMap } from "node:module";

/** A line of a source file. */
export interface SourceLine {
  /** Path in the repository, `src/proxy/pipeline.ts`; other files as short as possible. */
  readonly file: string;
  /** Counts from 1; 0 if unknown. */
  readonly line: number;
}

/**
 * Maps lines of running code to source lines.
 *
 * Deno keeps source maps of the TypeScript that it transpiles. The files of the executable's program have maps beside them,
 * which Deno does not know, as it would keep them in memory; see `.ci/source_map.ts`.
 */
export class SourceLines {
  readonly #maps = new Map<string, SourceMap | undefined>();
  readonly #root = new URL("../../../", import.meta.url).href;

  /** @param line Counts from 0, as in V8. */
  find(url: string, line: number): SourceLine {
    const map = this.#mapOf(url);
    // The last column: a line generated from several source lines counts as the last one.
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
    const map = findSourceMap(path) ?? readOwnMap(path);
    this.#maps.set(url, map);
    return map;
  }

  #shorten(file: string): string {
    if (file.startsWith(this.#root)) return file.slice(this.#root.length);
    const [, inPackage] = /\/npm\/[^/]+\/(.+)$/.exec(file) ?? [];
    return inPackage === undefined ? file : `npm:${inPackage}`;
  }
}

/** Reads the map beside a file of the program; returns `undefined` if it cannot be read, in favor of the program's lines. */
function readOwnMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(Deno.readTextFileSync(`${path}.map`)));
  } catch {
    return undefined;
  }
}
