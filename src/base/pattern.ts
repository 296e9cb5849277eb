/** The only file that knows @bufbuild/re2: matches regular expressions in RE2 syntax against whole strings. */
import type * as Re2 from "@bufbuild/re2";
import { describeError, GatewayError } from "./errors.ts";

/** Longest string in UTF-16 units that a pattern matches. */
export const MAX_MATCHED_LENGTH = 8192;

/** Instructions of a compiled pattern; each character of a string costs one step per instruction at worst. */
const MAX_INSTRUCTIONS = 2000;

/** Characters that the patterns of all routes may read for one request, weighted; some 5 ms, and 60 ms at worst. */
const MAX_WORK = 256 * 1024;
/** Instructions that make a character cost twice as much as with a short pattern. */
const INSTRUCTIONS_PER_WEIGHT = 16;

let re2: typeof Re2 | undefined;

/** Loads the engine, which takes 7 ms and 3 MB; await it before creating the first `Pattern`. */
export async function loadPatterns(): Promise<void> {
  re2 ??= await import("@bufbuild/re2");
}

/** Limits the work of all patterns that one request is compared with. */
export class PatternBudget {
  #remaining = MAX_WORK;

  /** @throws {GatewayError} `head_too_large` */
  spend(work: number): void {
    this.#remaining -= work;
    if (this.#remaining >= 0) return;
    throw new GatewayError(
      "head_too_large",
      "downstream",
      "Cannot choose a route: too many regular expressions for such a long path or value",
    );
  }
}

/**
 * A regular expression in RE2 syntax. Clients choose the strings to match, so matching takes linear time whatever the pattern
 * and the string are; JavaScript's engine takes exponential time for some.
 *
 * Matching builds a deterministic automaton on demand: at most one state per character. The engine keeps at most 10,000 states and
 * then continues in quadratic time, therefore `test` starts a new automaton after every `MAX_MATCHED_LENGTH` characters. This bounds
 * its memory as well.
 */
export class Pattern {
  /** Error in the source, such as `missing closing ]: "[a"`; such a pattern matches nothing. */
  readonly problem: string | undefined;
  readonly #source: string;
  /** Literal that every match begins with. */
  readonly #prefix: string;
  readonly #weight: number;
  #engine: Re2.RE2JS | undefined;
  /** Characters that the automaton may still read. */
  #remaining = MAX_MATCHED_LENGTH;

  /** @throws {TypeError} When the engine is not loaded. */
  constructor(source: string) {
    this.#source = source;
    const { engine, problem } = compile(source);
    this.#engine = engine;
    this.problem = problem;
    const program = engine?.re2();
    this.#prefix = program?.prefix ?? "";
    this.#weight = 1 +
      (program?.prog.numInst() ?? 0) / INSTRUCTIONS_PER_WEIGHT;
  }

  /**
   * Returns whether the pattern matches the whole of `text`; false for strings over `MAX_MATCHED_LENGTH`.
   * @throws {GatewayError} When the budget is exhausted.
   */
  test(text: string, budget?: PatternBudget): boolean {
    if (this.#engine === undefined || text.length > MAX_MATCHED_LENGTH) {
      return false;
    }
    if (!text.startsWith(this.#prefix)) return false;
    budget?.spend(text.length * this.#weight);
    this.#remaining -= text.length;
    if (this.#remaining < 0) {
      this.#engine = requireRe2().RE2JS.compile(this.#source);
      this.#remaining = MAX_MATCHED_LENGTH - text.length;
    }
    return this.#engine.testExact(text);
  }
}

/** A condition whose value is a regular expression. */
export interface PatternCondition {
  readonly value: string;
}

const patterns = new WeakMap<PatternCondition, Pattern>();

/** Returns the pattern of a condition, which is compiled once: checks and all route tables use the same. */
export function patternOf(condition: PatternCondition): Pattern {
  return patterns.getOrInsertComputed(
    condition,
    ({ value }) => new Pattern(value),
  );
}

function requireRe2(): typeof Re2 {
  if (re2 !== undefined) return re2;
  throw new TypeError("Cannot create a pattern before loadPatterns()");
}

function compile(
  source: string,
): { readonly engine?: Re2.RE2JS; readonly problem?: string } {
  const { RE2JS, RE2JSSyntaxException } = requireRe2();
  try {
    const engine = RE2JS.compile(source);
    return engine.re2().prog.numInst() <= MAX_INSTRUCTIONS ? { engine } : {
      problem:
        `too large: more than ${MAX_INSTRUCTIONS} instructions once repetitions are expanded`,
    };
  } catch (error) {
    const isSyntax = error instanceof RE2JSSyntaxException;
    return {
      problem: isSyntax
        ? explain(error.getDescription(), error.getPattern())
        : describeError(error),
    };
  }
}

/** Hints about features that RE2 does not have, by the part that it rejects. */
const hints: readonly (readonly [part: RegExp, hint: string])[] = [
  [/^\(\?<?[=!]/, "RE2 has no lookahead or lookbehind"],
  [/^\\[1-9k]/, "RE2 has no backreferences"],
  [/^\\u/, "RE2 writes code points as \\x{1F600}"],
  [
    /^\{\d+,?\}/,
    "RE2 repeats at most 1000 times, nested repetitions multiplied",
  ],
];

function explain(fault: string, part: string | null): string {
  if (part === null) return fault;
  const hint = hints.find(([pattern]) => pattern.test(part))?.[1];
  const place = `${fault}: ${JSON.stringify(part)}`;
  return hint === undefined ? place : `${place}; ${hint}`;
}
