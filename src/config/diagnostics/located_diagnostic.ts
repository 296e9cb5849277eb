import { excerpt } from "./excerpt.ts";
import {
  formatPath,
  type Path,
  type Problem,
} from "../../api/schema/validate.ts";

/** A position in a configuration file; line and column count from 1. */
export interface Location {
  /** Name of the `ConfigText`. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1. */
  readonly column: number;
}

/** A problem in the configuration. */
export interface Diagnostic extends Location {
  /** An error keeps the configuration from being applied. */
  readonly severity: "error" | "warning";
  /** Path in the user's document: `routes[0].backends[1].host`; empty for a whole file. */
  readonly path: string;
  /** Says what is wrong, and what was expected. */
  readonly message: string;
  /** A value that may have been meant. */
  readonly suggestion?: string;
}

/** Reports whether a diagnostic prevents the configuration from being applied. */
export function isError(
  { severity }: { readonly severity: "error" | "warning" },
): boolean {
  return severity === "error";
}

/** Configuration as text. */
export interface ConfigText {
  /** Name in messages: the path as given, or `<stdin>`. Relative paths in the text start at its directory. */
  readonly name: string;
  /** Contents, YAML or JSON. */
  readonly text: string;
  /** Warns when the last line has no end: the file may be written only in part. */
  readonly expectsLastLineEnd?: boolean;
}

/** Converts a problem to a diagnostic; `path` is the path in the user's document. */
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

/** Formats one line: `file:line:column: error: path: message; did you mean "x"?`. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, severity, path, message, suggestion } =
    diagnostic;
  const where = path === "" ? "" : `${path}: `;
  const hint = suggestion === undefined
    ? ""
    : `; did you mean "${suggestion}"?`;
  return `${file}:${line}:${column}: ${severity}: ${where}${message}${hint}`;
}

/** Longer lines are generated, often a whole file in one line, and expensive to mask. */
const LONG_LINE = 2000;

/**
 * Formats diagnostics, each with its line and a caret; a very long line is shown once. Masks potentially secret values.
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

/** Sorts diagnostics by file and position. */
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
