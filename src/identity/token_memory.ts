/** What is remembered of a token. */
export interface RememberedToken {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Bounds of the memory; the tokens' own text counts, what hangs on them is of the same order. */
export interface TokenMemoryLimits {
  readonly tokens: number;
  readonly characters: number;
}

const defaultLimits = { tokens: 10_000, characters: 8 * 1024 * 1024 };

/** Tokens by their exact text; when it is full, the one that was not used for longest goes first. */
export class TokenMemory<T extends RememberedToken> {
  readonly #limits: TokenMemoryLimits;
  /** In order of use. */
  readonly #byText = new Map<string, T>();
  #characters = 0;

  constructor(limits: TokenMemoryLimits = defaultLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byText.size;
  }

  get fill(): { readonly used: number; readonly capacity: number } {
    return { used: this.#byText.size, capacity: this.#limits.tokens };
  }

  /** What is known of the token, unless it has expired at `now`. */
  get(text: string, now: number): T | undefined {
    const found = this.#byText.get(text);
    if (found === undefined) return undefined;
    this.#byText.delete(text);
    if (found.expiresAt <= now) {
      this.#characters -= text.length;
      return undefined;
    }
    this.#byText.set(text, found);
    return found;
  }

  add(token: T): void {
    this.delete(token.text);
    this.#byText.set(token.text, token);
    this.#characters += token.text.length;
    for (const oldest of this.#byText.keys()) {
      if (!this.#isTooLarge()) break;
      this.delete(oldest);
    }
  }

  delete(text: string): void {
    if (this.#byText.delete(text)) this.#characters -= text.length;
  }

  #isTooLarge(): boolean {
    return this.#byText.size > this.#limits.tokens ||
      this.#characters > this.#limits.characters;
  }
}
