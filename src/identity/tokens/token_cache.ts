/** An entry of a `TokenCache`. */
export interface CachedToken {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Bounds of the cache. `characters` counts the tokens' text; their claims are of similar size. */
export interface TokenCacheLimits {
  readonly tokens: number;
  readonly characters: number;
}

const defaultLimits = { tokens: 10_000, characters: 8 * 1024 * 1024 };

/** A least-recently-used cache of tokens by their exact text. */
export class TokenCache<T extends CachedToken> {
  readonly #limits: TokenCacheLimits;
  /** Least recently used first. */
  readonly #byText = new Map<string, T>();
  /** Most recently used: it is in its place. */
  #latest: T | undefined;
  #characters = 0;

  constructor(limits: TokenCacheLimits = defaultLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byText.size;
  }

  get occupancy(): { readonly used: number; readonly capacity: number } {
    return { used: this.#byText.size, capacity: this.#limits.tokens };
  }

  /** Returns the entry of a token unless it has expired. */
  get(text: string, now: number): T | undefined {
    const found = this.#byText.get(text);
    if (found === undefined) return undefined;
    if (found.expiresAt <= now) {
      this.delete(text);
      return undefined;
    }
    if (found !== this.#latest) {
      this.#byText.delete(text);
      this.#byText.set(text, found);
      this.#latest = found;
    }
    return found;
  }

  add(token: T): void {
    this.delete(token.text);
    this.#byText.set(token.text, token);
    this.#latest = token;
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
