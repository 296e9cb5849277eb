/** What those write who know another language better than CEL. */
export interface Mistake {
  /** Such as `"and" is no operator`. */
  readonly message: string;
  /** Such as `write "&&"`; empty when the message says it all. */
  readonly remedy: string;
  /** In UTF-16 units from the beginning of the expression. */
  readonly offset: number;
}

/** Written for an operator of CEL, and the operator. */
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
    // Operators, whole: `==` is no `=`.
    /(?<symbol>===|!==|<>|[=!<>]=|&&|\|\||[=<>&|])/,
    // Two operands with a word between them, or a word before an operand: `jwt.and` and `[and]` are names.
    /(?<=[\w)\]}]\s+)(?<between>and|or)(?=[\s(]|$)/,
    /(?<![.\w])(?<before>not)(?=\s+[\w([{!]|\s*\()/,
  ].map(({ source }) => source).join("|"),
  "gi",
);

const beforeNothing = /^\s*(?:$|[)\]},:?]|&&|\|\|)/;
const afterNothing = /(?:^|[([{,:?])\s*$/;

/** The first operator of another language in an expression that is not sound, or the first that lacks an operand. */
export function findMistake(text: string): Mistake | undefined {
  const code = withoutTexts(text);
  for (const { 0: token, index: offset } of code.matchAll(tokens)) {
    const instead = operators.get(token.toLowerCase());
    if (instead !== undefined) {
      const message = `"${token}" is no operator`;
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

const texts =
  /'''[^]*?'''|"""[^]*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
const comments = /\/\/.*/g;

/** Texts become names and comments blanks of the same length; what comes after a quote without its partner is cut off. */
function withoutTexts(text: string): string {
  const code = text.replace(texts, (literal) => "x".repeat(literal.length))
    .replace(comments, (comment) => " ".repeat(comment.length));
  const [sound = ""] = code.split(/["']/, 1);
  return sound;
}
