import {
  type CodePointTest,
  parsePattern,
  type PlaceTest,
  type Syntax,
} from "./pattern_syntax.ts";

/** Texts of more UTF-16 units than this match no pattern. */
export const MAX_MATCHED_LENGTH = 8192;

const MAX_STATES = 2000;

/**
 * A regular expression that is matched against whole texts in time proportional to their length, whatever the two are:
 * the engine of JavaScript takes exponential time for some, and a client chooses the text.
 *
 * It goes through all ways to match at the same time, character by character (Thompson 1968), so that there is nothing
 * to go back to.
 */
export class Pattern {
  readonly #start: State;
  /** By state: the place for which it was last entered. */
  readonly #entered: Int32Array;
  #count = 0;

  /** @throws {SyntaxError} When `source` is no regular expression that can be matched so. */
  constructor(source: string) {
    this.#start = this.#build(
      parsePattern(source),
      this.#number({ kind: "end" }),
    );
    this.#entered = new Int32Array(this.#count);
  }

  /** Whether the pattern describes the whole of `text`. */
  test(text: string): boolean {
    if (text.length > MAX_MATCHED_LENGTH) return false;
    this.#entered.fill(-1);
    let active: State[] = [];
    this.#enter(this.#start, text, 0, active);
    for (let index = 0; index < text.length;) {
      const codePoint = text.codePointAt(index) ?? 0;
      index += codePoint > 0xffff ? 2 : 1;
      const following: State[] = [];
      for (const state of active) {
        if (state.kind === "char" && state.accepts(codePoint)) {
          this.#enter(state.next, text, index, following);
        }
      }
      if (following.length === 0) return false;
      active = following;
    }
    return active.some(({ kind }) => kind === "end");
  }

  /** Adds to `active` the states that are reached from `state` without a character. */
  #enter(state: State, text: string, index: number, active: State[]): void {
    if (this.#entered[state.id] === index) return;
    this.#entered[state.id] = index;
    switch (state.kind) {
      case "split":
        for (const way of state.ways) this.#enter(way, text, index, active);
        break;
      case "assert":
        if (state.holds(text, index)) {
          this.#enter(state.next, text, index, active);
        }
        break;
      default:
        active.push(state);
    }
  }

  /** The state that matches `syntax` and goes on with `next`. */
  #build(syntax: Syntax, next: State): State {
    switch (syntax.kind) {
      case "char":
      case "assert":
        return this.#number({ ...syntax, next });
      case "sequence":
        return syntax.items.reduceRight(
          (rest, item) => this.#build(item, rest),
          next,
        );
      case "choice":
        return this.#number({
          kind: "split",
          ways: syntax.items.map((item) => this.#build(item, next)),
        });
      case "repeat":
        return this.#buildRepeat(syntax, next);
    }
  }

  #buildRepeat({ item, min, max }: Repeat, next: State): State {
    let state = next;
    if (max === Infinity) {
      const ways = [next];
      state = this.#number({ kind: "split", ways });
      ways.push(this.#build(item, state));
    } else {
      for (let count = min; count < max; count++) {
        state = this.#number({
          kind: "split",
          ways: [this.#build(item, state), next],
        });
      }
    }
    for (let count = 0; count < min; count++) state = this.#build(item, state);
    return state;
  }

  #number(state: NewState): State {
    if (this.#count >= MAX_STATES) {
      throw new SyntaxError(
        "it is too large once counted repetitions are written out",
      );
    }
    return { ...state, id: this.#count++ };
  }
}

type Repeat = Extract<Syntax, { kind: "repeat" }>;

type NewState =
  | {
    readonly kind: "char";
    readonly accepts: CodePointTest;
    readonly next: State;
  }
  | { readonly kind: "assert"; readonly holds: PlaceTest; readonly next: State }
  | { readonly kind: "split"; readonly ways: readonly State[] }
  | { readonly kind: "end" };

type State = NewState & { readonly id: number };
