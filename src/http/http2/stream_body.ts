import type { Body } from "../body.ts";
import type { HeaderList } from "../header_list.ts";
import type { Http2Stream } from "./http2_stream.ts";

/** The exchange that a body belongs to. */
export interface StreamBodyOwner {
  /** Called before each wait for bytes. */
  waitingForBody(): void;
  /** Called after each wait, with the number of bytes that it brought. */
  bodyArrived(count: number): void;
  /** Called once, after the last byte was read. */
  bodyEnded(): void;
  /** Called once, when the reader cancels the body. */
  bodyAbandoned(reason: unknown): void;
  /** Returns the error for the reader of a body that was cut. */
  translateBodyError(error: unknown): Error;
}

/** The body of a message on an HTTP/2 stream; unread bytes count against the window of the stream. */
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

  get hasArrived(): boolean | undefined {
    return this.length === undefined ? undefined : this.#stream.remoteEnded;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#failure !== undefined) {
      // Not the end: the bytes so far would look like the whole body.
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

  /** Called when bytes arrived or the stream ended; serves a pending read. */
  wake(): void {
    if (this.#waiting === undefined) return;
    const chunk = this.#stream.take();
    if (chunk !== undefined) {
      this.#settle(chunk.length)?.resolve(chunk);
    } else if (this.#stream.error !== undefined) {
      const waiting = this.#settle();
      waiting?.reject(this.#fail(this.#stream.error));
    } else if (this.#stream.remoteEnded) {
      const waiting = this.#settle();
      waiting?.resolve(this.#end());
    }
  }

  #settle(
    count = 0,
  ): PromiseWithResolvers<Uint8Array | undefined> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) this.#owner.bodyArrived(count);
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
