import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { HeaderList } from "../../http/header_list.ts";

type Chunk = ReturnType<Body["read"]>;

/** A body whose first bytes have been read. */
export class StartedBody implements Body {
  readonly length: number | undefined;
  readonly #rest: Body;
  readonly #held: HeldBytes | undefined;
  #first: Uint8Array | undefined;
  #next: { readonly chunk: Chunk } | undefined;

  /**
   * @param next The chunk after the first bytes, if it was requested already.
   * @param held Counts the first bytes until they are forwarded.
   */
  constructor(
    first: Uint8Array,
    rest: Body,
    next?: { readonly chunk: Chunk },
    held?: HeldBytes,
  ) {
    this.length = rest.length;
    this.#rest = rest;
    this.#held = held;
    this.#first = first;
    this.#next = next;
  }

  get trailers(): HeaderList | undefined {
    return this.#rest.trailers;
  }

  read(): Chunk {
    const first = this.#drop();
    if (first !== undefined && first.length > 0) return first;
    const next = this.#next;
    this.#next = undefined;
    return next === undefined ? this.#rest.read() : next.chunk;
  }

  cancel(reason: unknown): void {
    this.#drop();
    this.#rest.cancel(reason);
  }

  #drop(): Uint8Array | undefined {
    const first = this.#first;
    this.#first = undefined;
    this.#held?.release(first?.length ?? 0);
    return first;
  }
}
