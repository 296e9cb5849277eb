import type { Duplex } from "node:stream";
import { boundReads } from "./tls_reads.ts";
import type { Transport } from "./transport.ts";

/**
 * Adapts a Node byte stream, such as a TLS socket, to `Transport`.
 *
 * The stream stays paused: Node buffers up to its high-water mark and then stops reading from the network.
 * Handles the stream's `error` event: the next read or write throws the error.
 */
export class NodeTransport implements Transport {
  readonly #stream: Duplex;
  #wakeReader: (() => void) | undefined;
  /** Rejects the write that is under way. */
  #failWrite: ((reason: Error) => void) | undefined;
  #error: Error | undefined;
  #ended = false;
  #closed = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
    boundReads(stream);
    const wake = () => this.#wake();
    stream.on("readable", wake);
    stream.on("end", () => {
      this.#ended = true;
      wake();
    });
    stream.on("error", (error) => {
      this.#error ??= error;
      wake();
    });
    stream.on("close", () => {
      this.#failWrite?.(this.#error ?? connectionReset());
      wake();
    });
  }

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      const chunk = this.#take(into.length);
      if (chunk !== undefined) {
        into.set(chunk);
        return chunk.length;
      }
      if (this.#ended || this.#closed) return null;
      if (this.#error !== undefined) throw this.#error;
      if (this.#stream.destroyed) throw connectionReset();
      await new Promise<void>((resolve) => this.#wakeReader = resolve);
    }
  }

  /** Resolves when the operating system has taken the bytes, so that they may be overwritten. */
  write(bytes: Uint8Array): Promise<number> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#stream.destroyed) return Promise.reject(connectionReset());
    return new Promise((resolve, reject) => {
      this.#failWrite = reject;
      this.#stream.write(bytes, (error) => {
        this.#failWrite = undefined;
        if (error) reject(this.#error ?? error);
        else resolve(bytes.length);
      });
    });
  }

  closeWrite(): Promise<void> {
    if (this.#stream.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      // After a disconnection there is nothing to wait for.
      this.#stream.once("close", resolve);
      this.#stream.end(() => {
        this.#stream.off("close", resolve);
        resolve();
      });
    });
  }

  close(): void {
    this.#closed = true;
    this.#stream.destroy();
    this.#wake();
  }

  #take(limit: number): Uint8Array | undefined {
    const count = Math.min(limit, this.#stream.readableLength);
    // `read(0)` makes the stream fetch more and allows it to emit `end`.
    const chunk: unknown = this.#stream.read(count);
    return chunk instanceof Uint8Array && chunk.length > 0 ? chunk : undefined;
  }

  #wake(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = undefined;
    wake?.();
  }
}

function connectionReset(): Error {
  return new Deno.errors.ConnectionReset(
    "Cannot use the connection: it was reset",
  );
}
