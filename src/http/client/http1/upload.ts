import type { Body } from "../../body.ts";
import type { HeaderList } from "../../header_list.ts";

/** Observes the progress of an upload. */
export interface UploadObserver {
  /** The upload waits for the client. */
  awaitingClient(): void;
  /** The upload waits for the upstream. */
  awaitingUpstream(): void;
}

/** A request body that is sent upstream: can be delayed and cancelled, and tracks whether it was read. */
export class Upload implements Body {
  readonly length: number | undefined;
  readonly hasHeadroom: boolean;
  readonly #body: Body;
  readonly #observer: UploadObserver;
  /** Set while nothing may be read. */
  #hold: PromiseWithResolvers<void> | undefined;
  #started = false;
  #ended = false;
  #cancelled = false;
  #failure: unknown;

  /** @param held Nothing is read before `release`. */
  constructor(body: Body, observer: UploadObserver, held: boolean) {
    this.length = body.length;
    this.hasHeadroom = body.hasHeadroom ?? false;
    this.#body = body;
    this.#observer = observer;
    if (held) this.#hold = Promise.withResolvers();
  }

  get trailers(): HeaderList | undefined {
    return this.#body.trailers;
  }

  /** Part of the body was read, so it cannot be sent again. */
  get started(): boolean {
    return this.#started;
  }

  /** The body was read to its end. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Error of the body itself, such as the client's disconnection. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Allows the body to be sent. */
  release(): void {
    this.#hold?.resolve();
    this.#hold = undefined;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#hold !== undefined) {
      return this.#hold.promise.then(() => this.read());
    }
    if (this.#cancelled) return Promise.reject(new Error("upload cancelled"));
    this.#started = true;
    this.#observer.awaitingClient();
    const next = this.#body.read();
    return next instanceof Promise ? this.#await(next) : this.#take(next);
  }

  /** Stops the upload. A body that was not read stays available for another attempt. */
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
