import type { Transport } from "../../transport.ts";

const NEVER = Infinity;

/**
 * A client's connection with the moments until which its present read and write may take.
 *
 * Set the read's deadline before it or while it is under way; it is cleared when the wait ends.
 */
export class GuardedTransport implements Transport {
  readDeadline = NEVER;
  writeDeadline = NEVER;
  /** The read that is under way. */
  pendingRead: Promise<number | null> | undefined;
  /** Whether a write failed: the client is gone. */
  broken = false;
  readonly #transport: Transport;
  readonly #writeTimeout: () => number;
  #closed = false;

  /** @param writeTimeout Answers the deadline of a write that begins now. */
  constructor(transport: Transport, writeTimeout: () => number) {
    this.#transport = transport;
    this.#writeTimeout = writeTimeout;
  }

  get closed(): boolean {
    return this.#closed;
  }

  read(into: Uint8Array): Promise<number | null> {
    const reading = this.#transport.read(into);
    this.pendingRead = reading;
    // Ahead of whoever awaits it; a promise of our own would cost every request a turn.
    reading.then(this.#readEnded, this.#readEnded);
    return reading;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.writeDeadline = this.#writeTimeout();
    const writing = this.#transport.write(bytes);
    writing.then(this.#writeEnded, this.#writeFailed);
    return writing;
  }

  async closeWrite(): Promise<void> {
    this.writeDeadline = this.#writeTimeout();
    try {
      await this.#transport.closeWrite();
    } finally {
      this.writeDeadline = NEVER;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport.close();
  }

  readonly #readEnded = (): void => {
    this.pendingRead = undefined;
    this.readDeadline = NEVER;
  };

  readonly #writeEnded = (): void => {
    this.writeDeadline = NEVER;
  };

  readonly #writeFailed = (): void => {
    this.broken = true;
    this.writeDeadline = NEVER;
  };
}
