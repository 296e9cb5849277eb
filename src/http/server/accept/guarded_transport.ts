import type { Deadline, TimerWheel } from "../../timer_wheel.ts";
import type { Transport } from "../../transport.ts";

const NEVER = Infinity;

/** The limits of a guarded transport. */
export interface TransportGuard {
  readonly wheel: TimerWheel;
  /** How long a write that begins now may take. */
  writeTimeoutMs(): number;
  /** Called when the present read takes too long. */
  readExpired(): void;
  /** Called when the present write takes too long. */
  writeExpired(): void;
}

/** A client's connection whose reads and writes have wheel; each is cleared when the wait ends. */
export class GuardedTransport implements Transport {
  /** The read that is under way. */
  pendingRead: Promise<number | null> | undefined;
  /** Whether a write failed: the client is gone. */
  broken = false;
  readonly #transport: Transport;
  readonly #guard: TransportGuard;
  readonly #read: Deadline;
  readonly #write: Deadline;
  #closed = false;

  constructor(transport: Transport, guard: TransportGuard) {
    this.#transport = transport;
    this.#guard = guard;
    this.#write = { dueAt: NEVER, onDue: () => guard.writeExpired() };
    this.#read = {
      dueAt: NEVER,
      // A write that is due at the same time has closed the connection.
      onDue: () => this.#closed || guard.readExpired(),
    };
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Puts the wheel into force. */
  watch(): void {
    this.#guard.wheel.add(this.#write);
    this.#guard.wheel.add(this.#read);
  }

  /** Lifts all wheel. */
  unwatch(): void {
    this.#guard.wheel.delete(this.#write);
    this.#guard.wheel.delete(this.#read);
  }

  /** Limits the next read, or the one that is under way. */
  limitRead(dueAt: number): void {
    this.#guard.wheel.setAt(this.#read, dueAt);
  }

  read(into: Uint8Array): Promise<number | null> {
    const reading = this.#transport.read(into);
    this.pendingRead = reading;
    // Runs before the caller continues; a promise of our own would cost every request a turn.
    reading.then(this.#readEnded, this.#readEnded);
    return reading;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.#limitWrite();
    const writing = this.#transport.write(bytes);
    writing.then(this.#writeEnded, this.#writeFailed);
    return writing;
  }

  async closeWrite(): Promise<void> {
    this.#limitWrite();
    try {
      await this.#transport.closeWrite();
    } finally {
      this.#write.dueAt = NEVER;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport.close();
  }

  #limitWrite(): void {
    this.#guard.wheel.set(this.#write, this.#guard.writeTimeoutMs());
  }

  readonly #readEnded = (): void => {
    this.pendingRead = undefined;
    this.#read.dueAt = NEVER;
  };

  readonly #writeEnded = (): void => {
    this.#write.dueAt = NEVER;
  };

  readonly #writeFailed = (): void => {
    this.broken = true;
    this.#write.dueAt = NEVER;
  };
}
