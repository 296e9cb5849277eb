/** Treatment of settings that a provider has no counterpart for. */
export type Unsupported = "Drop" | "Reject";

/** More are not listed. */
const MAX_NAMES = 32;

/** The fields of a request that a translation leaves out. */
export class Losses {
  readonly #mode: Unsupported;
  readonly #names: string[] = [];

  constructor(mode: Unsupported) {
    this.#mode = mode;
  }

  /** Names of the fields in the client's API, without indexes: `tools[].strict`. */
  get names(): readonly string[] {
    return this.#names;
  }

  /**
   * Leaves out a setting that only advises the provider.
   * @throws {UntranslatableError} If the backend rejects such requests.
   */
  drop(path: string): void {
    if (this.#mode === "Reject") throw noCounterpart(path);
    this.note(path);
  }

  /** Leaves out something that changes no answer, such as a mark for the prompt cache. */
  note(path: string): void {
    const name = path.replace(/\[\d+\]/g, "[]");
    if (this.#names.length >= MAX_NAMES || this.#names.includes(name)) return;
    this.#names.push(name);
  }
}

/** A field that the other API has no counterpart for, or that is malformed. */
export class UntranslatableError extends Error {
  override readonly name = "UntranslatableError";
}

/** Creates the error for a field without a counterpart. */
export function noCounterpart(path: string): UntranslatableError {
  return new UntranslatableError(
    `"${path}" has no counterpart at the provider of this model`,
  );
}

/** Creates the error for a value of another type. */
export function malformed(path: string, expected: string): UntranslatableError {
  return new UntranslatableError(`"${path}" must be ${expected}`);
}
