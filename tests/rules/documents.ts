/** The documents of the repository, for the tests that check them. */
import { readFile, repositoryFiles } from "./repository.ts";

/** Paths of all documents that people write; the reference is generated. */
export const documents: readonly string[] = (await repositoryFiles()).filter(
  (path) => path.endsWith(".md") && path !== "examples/REFERENCE.md",
);

/** README and the pages of `docs/`, which users read, as one string. */
export const manual: string = (await Promise.all(
  documents.filter(isPage).map(readFile),
)).join("\n");

/** Returns whether the document is README or a page of `docs/`. */
export function isPage(path: string): boolean {
  return /^(README|docs\/\w+)\.md$/.test(path);
}

/** A fenced block and the line of the document at which it starts. */
export interface Block {
  readonly line: number;
  readonly text: string;
}

/** Returns the fenced blocks of a document in one language, such as `yaml`. */
export function blocksOf(markdown: string, language: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(({ index, 2: text = "" }) => ({
      line: markdown.slice(0, index).split("\n").length,
      text,
    }));
}

/** Returns the rows, cell by cell, of the table of the manual whose first column has that heading. */
export function tableRows(heading: string): string[][] {
  const [, table = ""] = manual.split(new RegExp(`^\\| ${heading} .*\n`, "m"));
  const rows = /^(?:\|.*\n)+/.exec(table)?.[0].trimEnd().split("\n") ?? [];
  return rows.slice(1).map((row) =>
    row.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

/** Returns the parts of a string that are between backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
