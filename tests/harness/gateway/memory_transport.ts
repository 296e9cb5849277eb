import { Buffer } from "node:buffer";
import type { Transport } from "../../../src/http/transport.ts";

/** An in-memory connection: the test provides the bytes to read and inspects the written bytes. */
export class MemoryTransport implements Transport {
  /** All written bytes, one character per byte. */
  written = "";
  /** Number of writes. */
  writes = 0;
  /** True after the write side was closed. */
  ended = false;
  closed = false;
  /** Blocks writes until it resolves. */
  writable: Promise<void> | undefined;
  /** Most bytes that a write takes. */
  takes = Infinity;
  #input = Buffer.alloc(0);
  #inputEnded = false;
  #inputError: Error | undefined;
  #wake: (() => void) | undefined;

  /** Adds bytes to read, one character per byte. */
  give(text: string): void {
    this.#input = Buffer.concat([this.#input, Buffer.from(text, "latin1")]);
    this.#wake?.();
  }

  /** Ends the bytes to read. */
  end(): void {
    this.#inputEnded = true;
    this.#wake?.();
  }

  /** Resets the connection. */
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
        throw new Error("Cannot read: another read is in progress");
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
    const taken = bytes.subarray(0, this.takes);
    this.written += Buffer.from(taken).toString("latin1");
    return taken.length;
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

/** Runs all pending microtasks. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
