import type { Body } from "../body.ts";
import type { HeaderList } from "../header_list.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** The exchange that a body belongs to. */
export interface StreamBodyOwner {
  /** Called before each wait for bytes. */
  waitingForBody(): void;
  /** Called when the wait is over. */
  bodyArrived(): void;
  /** Called once, after the last byte was read. */
  bodyEnded(): void;
  /** Called once, when the rest is not wanted. */
  bodyAbandoned(reason: unknown): void;
  /** The error for the reader of a body that was cut short. */
  translateBodyError(error: unknown): Error;
}

/** The body of a message on an HTTP/2 stream; what is not read stays within the stream's window. */
export class StreamBody implements Body {
  readonly length: number | undefined;
  trailers: HeaderList | undefined;
  readonly #stream: Http2Stream;
  readonly #owner: StreamBodyOwner;
  #ended = false;
  #failure: { readonly reason: unknown } | undefined;
  #waiting: PromiseWithResolvers<Uint8Array | undefined> | undefined;

  constructor(
    stream: Http2Stream,
    length: number | undefined,
    owner: StreamBodyOwner,
  ) {
    this.#stream = stream;
    this.length = length;
    this.#owner = owner;
  }

  /** Whether all of it was read. */
  get ended(): boolean {
    return this.#ended;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#failure !== undefined) {
      // Never the end: what was read so far would pass for the whole body.
      return Promise.reject(this.#failure.reason);
    }
    const chunk = this.#stream.take();
    if (chunk !== undefined) return chunk;
    if (this.#stream.error !== undefined) {
      return Promise.reject(this.#fail(this.#stream.error));
    }
    if (this.#stream.remoteEnded) return this.#end();
    this.#waiting = Promise.withResolvers();
    this.#owner.waitingForBody();
    return this.#waiting.promise;
  }

  cancel(reason: unknown): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#settle()?.reject(reason);
    this.#owner.bodyAbandoned(reason);
  }

  /** Bytes arrived, or the stream ended: a reader who waits is served. */
  wake(): void {
    if (this.#waiting === undefined) return;
    const chunk = this.#stream.take();
    if (chunk !== undefined) {
      this.#settle()?.resolve(chunk);
    } else if (this.#stream.error !== undefined) {
      const waiting = this.#settle();
      waiting?.reject(this.#fail(this.#stream.error));
    } else if (this.#stream.remoteEnded) {
      const waiting = this.#settle();
      waiting?.resolve(this.#end());
    }
  }

  #settle(): PromiseWithResolvers<Uint8Array | undefined> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) this.#owner.bodyArrived();
    return waiting;
  }

  #end(): undefined {
    if (this.#ended) return;
    this.#ended = true;
    this.#owner.bodyEnded();
  }

  #fail(error: unknown): Error {
    const reason = this.#owner.translateBodyError(error);
    this.#failure = { reason };
    return reason;
  }
}
