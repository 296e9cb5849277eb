import { excerpt } from "./excerpt.ts";
import {
  formatPath,
  type Path,
  type Problem,
} from "../../api/schema/validate.ts";

/** A place in a configuration file; line and column count from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something wrong, or suspicious, in the configuration. */
export interface Diagnostic extends Location {
  readonly severity: "error" | "warning";
  /** The value concerned, as the user wrote the way to it: `routes[0].backends[1].host`; empty for a whole file. */
  readonly path: string;
  readonly message: string;
  readonly suggestion?: string;
}

/** Whether it keeps the configuration from being applied. */
export function isError(
  { severity }: { readonly severity: "error" | "warning" },
): boolean {
  return severity === "error";
}

/** A text that configuration is read from. */
export interface ConfigText {
  /** What messages call it: the path as given, or `<stdin>`. Paths inside are relative to its folder. */
  readonly name: string;
  readonly text: string;
}

/** The diagnostic of a problem at a known place; `path` is the way in the user's own document. */
export function diagnosticOf(
  problem: Problem,
  location: Location,
  path: Path,
): Diagnostic {
  const got = problem.got === undefined ? "" : `, got ${problem.got}`;
  const remedy = problem.remedy === undefined ? "" : `; ${problem.remedy}`;
  return {
    ...location,
    severity: "error",
    path: formatPath(path),
    message: problem.message + got + remedy,
    ...(problem.suggestion !== undefined && { suggestion: problem.suggestion }),
  };
}

/** One line: `file:line:column: error: path: message; did you mean "x"?`. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, severity, path, message, suggestion } =
    diagnostic;
  const where = path === "" ? "" : `${path}: `;
  const hint = suggestion === undefined
    ? ""
    : `; did you mean "${suggestion}"?`;
  return `${file}:${line}:${column}: ${severity}: ${where}${message}${hint}`;
}

/** What is longer was written by a program, often all of the file in one line, and takes long to mask. */
const LONG_LINE = 2000;

/**
 * All diagnostics, each with the line it is about and a caret; of a very long line only the first. Values that may be secret are
 * masked.
 */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  sources: readonly ConfigText[],
): string {
  const lines = new Map(
    sources.map(({ name, text }) => [name, text.split(/\r?\n/)]),
  );
  const shown = new Set<string>();
  return diagnostics.map((diagnostic) => {
    const text = formatDiagnostic(diagnostic) + "\n";
    const line = lines.get(diagnostic.file)?.[diagnostic.line - 1] ?? "";
    if (line.length > LONG_LINE) {
      const place = `${diagnostic.file}:${diagnostic.line}`;
      if (shown.has(place)) return text;
      shown.add(place);
    }
    return text + excerpt(diagnostic, diagnostic.path, line);
  }).join("");
}

/** Diagnostics in the order of files and lines. */
export function sortDiagnostics(
  diagnostics: readonly Diagnostic[],
  sources: readonly ConfigText[],
): readonly Diagnostic[] {
  const order = new Map(sources.map(({ name }, index) => [name, index]));
  return diagnostics.toSorted((a, b) =>
    (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line ||
    a.column - b.column
  );
}
