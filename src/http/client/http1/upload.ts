import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";

/** Hears how the sending of a body goes on. */
export interface UploadObserver {
  /** The next bytes are asked for: the client may take its time. */
  awaitingClient(): void;
  /** They are here, and to be written: the upstream has to take them. */
  awaitingUpstream(): void;
}

/** A request's body on its way upstream: can be held back, given up, and knows whether it was touched. */
export class Upload implements Body {
  readonly length: number | undefined;
  readonly hasHeadroom: boolean;
  readonly #body: Body;
  readonly #observer: UploadObserver;
  readonly #released = Promise.withResolvers<void>();
  #held: boolean;
  #started = false;
  #ended = false;
  #cancelled = false;
  #failure: unknown;

  /** @param held Whether nothing is read before `release`. */
  constructor(body: Body, observer: UploadObserver, held: boolean) {
    this.length = body.length;
    this.hasHeadroom = body.hasHeadroom ?? false;
    this.#body = body;
    this.#observer = observer;
    this.#held = held;
  }

  get trailers(): HeaderList | undefined {
    return this.#body.trailers;
  }

  /** Whether part of the body was taken, so that it cannot be sent again. */
  get started(): boolean {
    return this.#started;
  }

  /** Whether the body was taken whole. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What the body's own end threw, such as the client's disconnection. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Lets the body go out. */
  release(): void {
    this.#held = false;
    this.#released.resolve();
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#held) return this.#released.promise.then(() => this.read());
    if (this.#cancelled) return Promise.reject(new Error("No longer wanted"));
    this.#started = true;
    this.#observer.awaitingClient();
    const next = this.#body.read();
    return next instanceof Promise ? this.#await(next) : this.#take(next);
  }

  /** Nothing more is sent. A body that nobody touched stays as it is, for another try. */
  cancel(reason: unknown): void {
    if (this.#ended || this.#cancelled) return;
    this.#cancelled = true;
    if (this.#started) this.#body.cancel(reason);
  }

  async #await(
    next: Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    try {
      return this.#take(await next);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  #take(chunk: Uint8Array | undefined): Uint8Array | undefined {
    if (chunk === undefined) this.#ended = true;
    this.#observer.awaitingUpstream();
    return chunk;
  }
}
