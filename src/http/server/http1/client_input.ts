import { InputBuffer } from "../../http1/input_buffer.ts";
import type { Transport } from "../../transport.ts";

/** Receives events found by reading ahead. */
export interface ReadAheadListener {
  /** The client closed its side. */
  clientEnded(): void;
  /** The connection failed. */
  clientLost(error: unknown): void;
}

/**
 * Reads a client's data ahead of demand.
 *
 * While a request is handled, the next read is already pending: it yields the next request, or detects that the client has
 * disconnected. Reads at most one buffer ahead.
 */
export class ClientInput {
  readonly buffer: InputBuffer;
  /** False once the client has closed its side. */
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
   * Waits for more bytes; returns `false` at the end.
   * @throws Errors of the transport.
   */
  fill(): Promise<boolean> {
    const reading = this.open ? this.#reading ?? this.#read() : undefined;
    return (reading ?? Promise.resolve()).then(this.#isOpen);
  }

  /** Keeps reading while there is room, until `stopReadingAhead`. There must be no other reader meanwhile. */
  readAhead(): void {
    this.#ahead = true;
    if (this.open && this.#reading === undefined && this.#hasRoom()) {
      this.#read();
    }
  }

  /** Starts no further read; a pending one is kept for the next `fill`. */
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

  // Created once per connection, not per read.
  readonly #isOpen = (): boolean => {
    if (this.#error !== undefined) throw this.#error.cause;
    return this.open;
  };

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
