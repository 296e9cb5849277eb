import type { Deadline, TimerWheel } from "../../timer_wheel.ts";
import type { Transport } from "../../transport.ts";
import type { TransferPace } from "../contract/transfer_pace.ts";

const NEVER = Infinity;

/** The limits of a guarded transport. */
export interface TransportGuard {
  readonly wheel: TimerWheel;
  /** Pace at which the client must read. */
  readonly pace: TransferPace;
  /** Called when the current read times out. */
  readExpired(): void;
  /** Called when the current write times out. */
  writeExpired(): void;
}

/** A client's connection with deadlines for reads and writes; each is cleared when the read or write ends. */
export class GuardedTransport implements Transport {
  /** The current read. */
  pendingRead: Promise<number | null> | undefined;
  /** True after a failed write: the client has disconnected. */
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

  /** Starts to enforce deadlines. */
  watch(): void {
    this.#guard.wheel.add(this.#write);
    this.#guard.wheel.add(this.#read);
  }

  /** Removes all deadlines. */
  unwatch(): void {
    this.#guard.wheel.delete(this.#write);
    this.#guard.wheel.delete(this.#read);
  }

  /** Sets the deadline of the current read, or else of the next. */
  limitRead(dueAt: number): void {
    this.#guard.wheel.setAt(this.#read, dueAt);
  }

  read(into: Uint8Array): Promise<number | null> {
    const reading = this.#transport.read(into);
    this.pendingRead = reading;
    // Runs before the caller continues; another promise would delay every request by a turn of the event loop.
    reading.then(this.#readEnded, this.#readEnded);
    return reading;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.#limitWrite();
    const writing = this.#transport.write(bytes);
    writing.then(this.#written, this.#writeFailed);
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
    this.#guard.wheel.setAt(this.#write, this.#guard.pace.wait());
  }

  readonly #readEnded = (): void => {
    this.pendingRead = undefined;
    this.#read.dueAt = NEVER;
  };

  readonly #written = (count: number): void => {
    this.#write.dueAt = NEVER;
    this.#guard.pace.moved(count);
  };

  readonly #writeFailed = (): void => {
    this.broken = true;
    this.#write.dueAt = NEVER;
  };
}
