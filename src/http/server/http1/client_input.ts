import { InputBuffer } from "../../http1/input_buffer.ts";
import type { Transport } from "../../transport.ts";

/** Who wants to know what reading ahead found. */
export interface ReadAheadListener {
  /** The client ended its side. */
  clientEnded(): void;
  /** The connection broke. */
  clientLost(error: unknown): void;
}

/**
 * What a client sends, read ahead of being asked for.
 *
 * While a request is handled the next read is under way already: it brings the next request, or the news that the client is
 * gone, which nothing else would tell. At most one buffer is read ahead.
 */
export class ClientInput {
  readonly buffer: InputBuffer;
  /** False once the client ended its side. */
  open = true;
  readonly #listener: ReadAheadListener;
  #reading: Promise<void> | undefined;
  #ahead = false;
  #error: { readonly cause: unknown } | undefined;

  constructor(transport: Transport, listener: ReadAheadListener) {
    this.buffer = new InputBuffer(transport);
    this.#listener = listener;
  }

  /**
   * Waits for more bytes; `false` at the end.
   * @throws What the transport throws.
   */
  async fill(): Promise<boolean> {
    if (this.open) await (this.#reading ?? this.#read());
    if (this.#error !== undefined) throw this.#error.cause;
    return this.open;
  }

  /** Keeps reading, as far as there is room, until `stopReadingAhead`. Nobody else may read meanwhile. */
  readAhead(): void {
    this.#ahead = true;
    if (this.open && this.#reading === undefined && this.#hasRoom()) {
      this.#read();
    }
  }

  /** Starts no further read; one that is under way goes on, for the next `fill`. */
  stopReadingAhead(): void {
    this.#ahead = false;
  }

  #hasRoom(): boolean {
    return this.buffer.available < this.buffer.bytes.length;
  }

  #read(): Promise<void> {
    return this.#reading = this.buffer.fill().then(
      this.#onFilled,
      this.#onFailed,
    );
  }

  // Made once per connection, not per read.
  readonly #onFilled = (open: boolean): void => {
    this.#reading = undefined;
    if (!open) {
      this.open = false;
      if (this.#ahead) this.#listener.clientEnded();
    } else if (this.#ahead) {
      this.readAhead();
    }
  };

  readonly #onFailed = (cause: unknown): void => {
    this.#reading = undefined;
    this.open = false;
    this.#error = { cause };
    if (this.#ahead) this.#listener.clientLost(cause);
  };
}
