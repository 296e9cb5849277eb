import type { Location } from "../diagnostics/located_diagnostic.ts";

/** The value of an unquoted scalar by the core schema of YAML 1.2: `80` is a number, `yes` a text. */
export function resolvePlainScalar(
  text: string,
): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  const isNumber = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
    .test(text);
  return isNumber ? Number(text) : text;
}

/**
 * What is wrong with the syntax, in words that say what to do where the parser's do not.
 * `around` is the text from the character before the fault on, `before` its line up to the fault.
 */
export function syntaxMessage(
  code: string,
  message: string,
  { before, around }: { readonly before: string; readonly around: string },
): string {
  if (around.startsWith("${")) {
    return '"${NAME}" cannot stand unquoted inside { } or [ ]; quote it, or give a number a line of its own';
  }
  switch (code) {
    case "DUPLICATE_KEY":
      return `duplicate key "${
        /^["']?([^\s:"']*)/.exec(around.slice(1))?.[1] ?? ""
      }"`;
    case "TAB_AS_INDENT":
      return "tab used as indentation; YAML allows only spaces";
    case "TAG_RESOLVE_FAILED":
      return `unknown YAML tag: ${message.replace(/^Unresolved tag: /, "")}`;
    case "BLOCK_AS_IMPLICIT_KEY":
      return /^\s*-[^\s-]/.test(before)
        ? 'invalid YAML: a blank is missing after the "-"'
        : 'invalid YAML: a second ": " in one line; put texts that contain it in quotes';
    case "BAD_SCALAR_START":
      return `invalid YAML: ${lowerFirst(message)}; put it in quotes`;
  }
  const mark = missingMark(message);
  if (mark !== undefined) {
    return `invalid YAML: ${mark} is missing or not indented enough`;
  }
  const extra = /^Unexpected flow-(?:map|seq)-end token.*"(.)"$/.exec(message)
    ?.[1];
  if (extra !== undefined) return `invalid YAML: this ${extra} closes nothing`;
  const remedy = remedies.get(message);
  if (remedy !== undefined) return `invalid YAML: ${remedy}`;
  return `invalid YAML: ${lowerFirst(message)}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** What beginners do, by the parser's words for it. */
const remedies = new Map([
  [
    "Unexpected scalar at node end",
    "text after a closing quote or bracket; put all of the value in quotes",
  ],
  [
    "Unexpected double-quoted-scalar at node end",
    "a text in quotes where the value before has ended; put a comma between them, or all of the value in quotes",
  ],
  [
    "Unexpected flow-seq-start at node end",
    'a "[" after a text; inside { } or [ ] put a value that contains it in quotes',
  ],
  [
    "Sequence item without - indicator",
    "the indentation is neither that of the line above nor of its list",
  ],
  [
    "All mapping items must start at the same column",
    "the indentation is not that of the fields before",
  ],
]);

/** The mark that the parser misses, as its message has it: `}` or `"`. */
export function missingMark(message: string): string | undefined {
  return /end with a (\S)$/.exec(message)?.[1] ??
    /^Missing closing (["'])quote$/.exec(message)?.[1];
}

/** What to say where a quote, `{` or `[` stands that is still open at `end`. */
export function unclosedMessage(
  opening: string,
  { line, column }: Location,
): string {
  const closing = new Map([["{", "}"], ["[", "]"]]).get(opening);
  if (closing === undefined) {
    return `invalid YAML: the text that this ${opening} begins is never closed`;
  }
  return `invalid YAML: this ${opening} is not closed; ${closing} is missing before ${line}:${column} or not indented enough`;
}

/**
 * How far a place in the value of a scalar is from where the scalar begins in `text`; 0 when the value is not written as it is:
 * with escapes or over several lines.
 */
export function offsetWithin(
  scalar: {
    readonly start: number;
    readonly value: unknown;
    readonly plain: boolean;
  },
  text: string,
  offset: number,
): number {
  const { start, value, plain } = scalar;
  const quote = plain ? 0 : 1;
  const isVerbatim = typeof value === "string" &&
    text.startsWith(value, start + quote);
  return isVerbatim ? quote + offset : 0;
}
