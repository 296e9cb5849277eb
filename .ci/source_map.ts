import { SourceMap, type SourceMapPayload } from "node:module";

const digits =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ours = /^(?:src|admin|cli|main\.ts)(?:\/|$)/;

/**
 * The program with a source map as its last line, for profiles: where each line of ours comes from, and nothing of packages.
 *
 * As a comment that Deno does not know: a map of its own kind would be kept in memory from the start.
 * @param folder Of the sources, relative to the bundle: `../`.
 */
export function appendSourceMap(
  program: string,
  map: SourceMapPayload,
  folder: string,
): string {
  const entries = new SourceMap(map);
  const sources = new Map<string, number>();
  const previous = { source: 0, line: 0 };
  const mappings = program.split("\n").map((_, line) => {
    const entry = entries.findEntry(line, 1_000_000);
    if (!("originalSource" in entry) || entry.generatedLine !== line) return "";
    const source = entry.originalSource.replace(folder, "");
    // A column without a source.
    if (!ours.test(source)) return "A";
    const index = sources.get(source) ?? sources.size;
    sources.set(source, index);
    const segment = "A" + encode(index - previous.source) +
      encode(entry.originalLine - previous.line) + "A";
    previous.source = index;
    previous.line = entry.originalLine;
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

/** Base 64 VLQ, ECMA-426 section 6. */
function encode(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}
