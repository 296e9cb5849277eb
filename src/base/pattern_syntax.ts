/** A regular expression taken apart, as far as it can be matched in linear time. */
export type Syntax =
  | { readonly kind: "char"; readonly accepts: CodePointTest }
  | { readonly kind: "assert"; readonly holds: PlaceTest }
  | { readonly kind: "sequence"; readonly items: readonly Syntax[] }
  | { readonly kind: "choice"; readonly items: readonly Syntax[] }
  | {
    readonly kind: "repeat";
    readonly item: Syntax;
    readonly min: number;
    readonly max: number;
  };

/** Whether a character, given as its code point, fits. */
export type CodePointTest = (codePoint: number) => boolean;

/** Whether the place before `text[index]` fits. */
export type PlaceTest = (text: string, index: number) => boolean;

/**
 * Takes a regular expression in the syntax of JavaScript, with flag `u`, apart.
 * @throws {SyntaxError} When it is none, or looks around, refers back or switches flag `m`.
 */
export function parsePattern(source: string): Syntax {
  // What passes here is well-formed, so that the parser need not look for mistakes.
  new RegExp(source, "u");
  return new Parser(source).choice("");
}

const atom =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|x..|c.|[^])|\[(?:\\[^]|[^\]\\])*\]|[^]/uy;
const quantifier = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const groupStart = /\((?:\?(?:(<?[=!])|<[^>]*>|([a-z]*)(?:-([a-z]*))?:))?/y;

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Alternatives up to the end or a closing parenthesis. `flags` are those of the groups around. */
  choice(flags: string): Syntax {
    const items = [this.#sequence(flags)];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      items.push(this.#sequence(flags));
    }
    return { kind: "choice", items };
  }

  #sequence(flags: string): Syntax {
    const items: Syntax[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#next())) {
      items.push(this.#repeated(this.#item(flags)));
    }
    return { kind: "sequence", items };
  }

  #next(): string {
    return this.#source.charAt(this.#at);
  }

  #item(flags: string): Syntax {
    if (this.#next() === "(") return this.#group(flags);
    const [text = ""] = this.#take(atom) ?? [];
    if (/^\\[1-9k]/.test(text)) {
      throw new SyntaxError(
        "back references are not supported, they can take exponential time",
      );
    }
    const holds = places.get(text);
    return holds === undefined
      ? { kind: "char", accepts: characterTest(text, flags) }
      : { kind: "assert", holds };
  }

  #group(flags: string): Syntax {
    const [, look, added = "", removed = ""] = this.#take(groupStart) ?? [];
    if (look !== undefined) {
      throw new SyntaxError("looking ahead or behind is not supported");
    }
    if ((added + removed).includes("m")) {
      throw new SyntaxError('flag "m" is not supported');
    }
    const kept = [...flags].filter((flag) => !(added + removed).includes(flag));
    const inside = this.choice(kept.join("") + added);
    this.#at++;
    return inside;
  }

  #repeated(item: Syntax): Syntax {
    const found = this.#take(quantifier);
    if (found === undefined) return item;
    const [, sign, from, comma, to] = found;
    const min = sign === undefined ? Number(from) : sign === "+" ? 1 : 0;
    const open = sign === undefined
      ? comma !== undefined && to === ""
      : sign !== "?";
    const max = open ? Infinity : sign === "?" ? 1 : Number(to ?? from);
    return { kind: "repeat", item, min, max };
  }

  /** What `token` finds right here. */
  #take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.#at;
    const found = token.exec(this.#source) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

const places = new Map<string, PlaceTest>([
  ["^", (_, index) => index === 0],
  ["$", (text, index) => index === text.length],
  ["\\b", isWordEdge],
  ["\\B", (text, index) => !isWordEdge(text, index)],
]);

function isWordEdge(text: string, index: number): boolean {
  return isWord(text.charAt(index - 1)) !== isWord(text.charAt(index));
}

function isWord(character: string): boolean {
  return /^\w$/.test(character);
}

/** For a literal, an escape, a class or a dot; a table answers for ASCII, which is nearly everything. */
function characterTest(text: string, flags: string): CodePointTest {
  const [character = "", ...more] = text;
  if (flags === "" && more.length === 0 && character !== ".") {
    const literal = character.codePointAt(0);
    return (codePoint) => codePoint === literal;
  }
  const pattern = new RegExp(`^${text}$`, `u${flags}`);
  const test: CodePointTest = (codePoint) =>
    pattern.test(String.fromCodePoint(codePoint));
  const ascii = Array.from({ length: 128 }, (_, codePoint) => test(codePoint));
  return (codePoint) => ascii[codePoint] ?? test(codePoint);
}
