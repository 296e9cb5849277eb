import { Buffer } from "node:buffer";
import type { Transport } from "../../src/http/transport.ts";

/** A connection in memory, seen from the far end: what the owner reads is given here, what it writes is kept. */
export class MemoryTransport implements Transport {
  /** All that was written, one character per byte. */
  written = "";
  /** Number of writes. */
  writes = 0;
  /** Whether the owner ended its side. */
  ended = false;
  closed = false;
  /** Set to hold writes back until it is resolved. */
  writable: Promise<void> | undefined;
  #input = Buffer.alloc(0);
  #inputEnded = false;
  #inputError: Error | undefined;
  #wake: (() => void) | undefined;

  /** Gives bytes to read, one character each. */
  give(text: string): void {
    this.#input = Buffer.concat([this.#input, Buffer.from(text, "latin1")]);
    this.#wake?.();
  }

  /** Nothing more will come. */
  end(): void {
    this.#inputEnded = true;
    this.#wake?.();
  }

  /** Breaks the connection. */
  break(): void {
    this.#inputError = new Deno.errors.ConnectionReset("reset");
    this.#wake?.();
  }

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      if (this.closed) throw new Deno.errors.BadResource("closed");
      if (this.#inputError !== undefined) throw this.#inputError;
      if (this.#input.length > 0) {
        const count = Math.min(into.length, this.#input.length);
        into.set(this.#input.subarray(0, count));
        this.#input = this.#input.subarray(count);
        return count;
      }
      if (this.#inputEnded) return null;
      if (this.#wake !== undefined) {
        throw new Error("Cannot read: another read is under way");
      }
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }

  async write(bytes: Uint8Array): Promise<number> {
    this.writes++;
    await this.writable;
    if (this.closed) throw new Deno.errors.BadResource("closed");
    if (this.#inputError !== undefined) throw this.#inputError;
    this.written += Buffer.from(bytes).toString("latin1");
    return bytes.length;
  }

  closeWrite(): Promise<void> {
    this.ended = true;
    return Promise.resolve();
  }

  close(): void {
    this.closed = true;
    this.#wake?.();
  }
}

/** Lets everything run that waits for nothing but promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
