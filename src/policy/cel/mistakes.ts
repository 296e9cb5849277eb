/** A syntax error of an expression; `offset` is in UTF-16 units from its beginning. */
export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** Converts an error of the parser, whose class is not exported; it has `rawMessage` and `location.start.offset`. */
export function faultOf(error: unknown): SyntaxFault {
  const start = property(property(error, "location"), "start");
  const offset = property(start, "offset");
  const raw = property(error, "rawMessage");
  // The list of everything that was expected is too long to help.
  const unexpected = /^found (.*?) but expecting/s.exec(String(raw))?.[1];
  return {
    message: unexpected !== undefined
      ? `unexpected ${unexpected}`
      : typeof raw === "string"
      ? raw
      : "it is nested too deeply",
    offset: typeof offset === "number" ? offset : 0,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

/** A mistake that is common among authors who know other languages. */
interface Mistake {
  /** Such as `unknown operator "and"`. */
  readonly message: string;
  /** Such as `write "&&"`; empty when the message suffices. */
  readonly remedy: string;
  /** Position in UTF-16 units from the beginning of the expression. */
  readonly offset: number;
}

/** Operators of CEL by their spelling in other languages. */
const operators: ReadonlyMap<string, string> = new Map([
  ["=", "=="],
  ["===", "=="],
  ["!==", "!="],
  ["<>", "!="],
  ["&", "&&"],
  ["|", "||"],
  ["and", "&&"],
  ["or", "||"],
  ["not", "!"],
]);

const tokens = new RegExp(
  [
    // Complete operators: `==` is not `=`.
    /(?<symbol>===|!==|<>|[=!<>]=|&&|\|\||[=<>&|])/,
    // Two operands with a word between them, or a word before an operand: `jwt.and` and `[and]` are names.
    /(?<=[\w)\]}]\s+)(?<between>and|or)(?=[\s(]|$)/,
    /(?<![.\w])(?<before>not)(?=\s+[\w([{!]|\s*\()/,
  ].map(({ source }) => source).join("|"),
  "gi",
);

/** The time of the parser grows with the square of the depth. */
const MAX_DEPTH = 64;

/** Finds the first bracket that is nested too deeply for the parser. */
export function findDeepBracket(text: string): SyntaxFault | undefined {
  let depth = 0;
  for (const { 0: bracket, index } of withoutTexts(text).matchAll(brackets)) {
    depth += "([{".includes(bracket) ? 1 : -1;
    if (depth <= MAX_DEPTH) continue;
    return {
      message: `it has more than ${MAX_DEPTH} brackets inside each other`,
      offset: index,
    };
  }
  return undefined;
}

const brackets = /[([{}\])]/g;
const beforeNothing = /^\s*(?:$|[)\]},:?]|&&|\|\|)/;
const afterNothing = /(?:^|[([{,:?])\s*$/;

/** Finds the first operator of another language, or the first without an operand, in an invalid expression. */
export function findMistake(text: string): Mistake | undefined {
  const code = withoutTexts(text);
  for (const { 0: token, index: offset } of code.matchAll(tokens)) {
    const instead = operators.get(token.toLowerCase());
    if (instead !== undefined) {
      const message = `unknown operator "${token}"`;
      return { message, remedy: `write "${instead}"`, offset };
    }
    const lacks = beforeNothing.test(code.slice(offset + token.length))
      ? "after"
      : afterNothing.test(code.slice(0, offset))
      ? "before"
      : undefined;
    if (lacks === undefined) continue;
    const message = `an operand is missing ${lacks} "${token}"`;
    return { message, remedy: "", offset };
  }
  return undefined;
}

const openings = new Map([[")", "("], ["]", "["], ["}", "{"]]);

/** Finds the string or bracket that is not closed in an expression that the parser rejects. */
export function findUnclosed(text: string): SyntaxFault | undefined {
  const code = withoutTexts(text);
  const rest = text.slice(code.length);
  if (rest !== "") {
    return {
      message: `${rest.slice(0, 1)} is not closed`,
      offset: code.length,
    };
  }
  const open: SyntaxFault[] = [];
  for (const { 0: bracket, index: offset } of code.matchAll(brackets)) {
    const opening = openings.get(bracket);
    if (opening === undefined) {
      open.push({ message: `${bracket} is not closed`, offset });
    } else if (!open.pop()?.message.startsWith(opening)) {
      return { message: `unexpected ${bracket}`, offset };
    }
  }
  return open.at(-1);
}

const texts =
  /'''[^]*?'''|"""[^]*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
const comments = /\/\/.*/g;

/** Replaces strings by names, and comments by spaces of the same length; cuts the text after an unclosed quote. */
function withoutTexts(text: string): string {
  const code = text.replace(texts, (literal) => "x".repeat(literal.length))
    .replace(comments, (comment) => " ".repeat(comment.length));
  const [sound = ""] = code.split(/["']/, 1);
  return sound;
}
