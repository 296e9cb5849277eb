import type { Frame } from "./stack_profile.ts";
import type { SourceLines } from "./source_lines.ts";

/** Converts a V8 call frame to a source frame. */
export function frameOf(
  lines: SourceLines,
  { functionName, url, lineNumber }: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  },
): Frame {
  // Not a function, such as `(garbage collector)`.
  if (lineNumber < 0) {
    return { name: functionName, file: "", startLine: 0, line: 0 };
  }
  const { file, line } = lines.find(url, lineNumber);
  const name = functionName === "" ? `(anonymous:${line})` : functionName;
  return { name, file, startLine: line, line };
}
