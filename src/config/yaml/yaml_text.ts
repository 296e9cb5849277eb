import type { Location } from "../diagnostics/located_diagnostic.ts";

/** Resolves an unquoted scalar by the YAML 1.2 core schema: `80` is a number, `yes` a string. */
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
 * Describes a syntax error; adds how to fix it where the parser's message does not.
 * `around` is the source from one character before the error, `before` its line up to the error.
 */
export function syntaxMessage(
  code: string,
  message: string,
  { before, around }: { readonly before: string; readonly around: string },
): string {
  if (around.startsWith("${")) {
    return '"${NAME}" must be quoted inside { } or [ ]; for a number, use a separate line without { } and [ ]';
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
        ? 'invalid YAML: space missing after the "-"'
        : 'invalid YAML: second ": " in one line; quote strings that contain it';
    case "BAD_SCALAR_START":
      return `invalid YAML: ${lowerFirst(message)}; quote it`;
  }
  const terminator = missingTerminator(message);
  if (terminator !== undefined) {
    return `invalid YAML: ${terminator} is missing or not indented enough`;
  }
  const extra = /^Unexpected flow-(?:map|seq)-end token.*"(.)"$/.exec(message)
    ?.[1];
  if (extra !== undefined) return `invalid YAML: unmatched ${extra}`;
  const remedy = remedies.get(message);
  if (remedy !== undefined) return `invalid YAML: ${remedy}`;
  return `invalid YAML: ${lowerFirst(message)}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Explanations of common mistakes by the parser's message. */
const remedies = new Map([
  [
    "Unexpected scalar at node end",
    "characters after a closing quote or bracket; quote the whole value",
  ],
  [
    "Unexpected double-quoted-scalar at node end",
    "quoted string after the end of a value; add a comma between them, or quote the whole value",
  ],
  [
    "Unexpected flow-seq-start at node end",
    '"[" after a string; inside { } or [ ], quote values that contain it',
  ],
  [
    "Sequence item without - indicator",
    "the indentation matches neither the line above nor its list",
  ],
  [
    "All mapping items must start at the same column",
    "the indentation does not match the fields above",
  ],
]);

/** Extracts the terminator that the parser misses from its message: `}` or `"`. */
export function missingTerminator(message: string): string | undefined {
  return /end with a (\S)$/.exec(message)?.[1] ??
    /^Missing closing (["'])quote$/.exec(message)?.[1];
}

/** Describes a quote, `{` or `[` that is still open at the given location. */
export function unclosedMessage(
  opening: string,
  { line, column }: Location,
): string {
  const closing = new Map([["{", "}"], ["[", "]"]]).get(opening);
  if (closing === undefined) {
    return `invalid YAML: the string that this ${opening} begins is not closed`;
  }
  return `invalid YAML: this ${opening} is not closed; ${closing} is missing before ${line}:${column} or not indented enough`;
}

/**
 * Converts an offset in a scalar's value to one from the scalar's start in `text`; 0 when the value is not written verbatim,
 * but with escapes or over several lines.
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
