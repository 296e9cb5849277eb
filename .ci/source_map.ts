import { SourceMap, type SourceMapPayload } from "node:module";

const DIGITS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ours = /^(?:src|admin|cli|main\.ts|worker\.ts)(?:\/|$)/;

/**
 * Returns a source map for profiles that has the source of each line of ours, and nothing of packages.
 *
 * It is a file of its own that no comment names, because Deno keeps the maps that it knows in memory from the start.
 * @param folder Folder of the sources, relative to the bundle: `../`.
 */
export function shortenMap(
  program: string,
  map: SourceMapPayload,
  folder: string,
): string {
  const lines = program.split("\n");
  const finder = new SourceMap(map);
  const sources = new Map<string, number>();
  const previous = { source: 0, line: 0 };
  const mappings = lines.map((_, line) => {
    const found = finder.findEntry(line, 1_000_000);
    if (!("originalSource" in found) || found.generatedLine !== line) return "";
    const source = found.originalSource.replace(folder, "");
    // A column without a source.
    if (!ours.test(source)) return "A";
    const index = sources.get(source) ?? sources.size;
    sources.set(source, index);
    const segment = "A" + encode(index - previous.source) +
      encode(found.originalLine - previous.line) + "A";
    previous.source = index;
    previous.line = found.originalLine;
    return segment;
  });
  const small = {
    version: 3,
    sources: [...sources.keys()],
    names: [],
    mappings: mappings.join(";"),
  };
  return `${JSON.stringify(small)}\n`;
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
