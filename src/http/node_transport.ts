import type { Duplex } from "node:stream";
import { type TlsHandle, tlsHandleOf } from "./tls_handle.ts";
import type { Transport } from "./transport.ts";

/** A read that waits for bytes. */
interface Reader {
  readonly into: Uint8Array;
  resolve(count: number | null): void;
  reject(reason: Error): void;
}

/**
 * Adapts a Node byte stream to `Transport`.
 *
 * Bytes of a TLS socket do not pass through its streams, but go to and come from the handle below; its stream opens, ends and
 * closes it. Stops reading from the network while there is more than the reader has asked for.
 * Handles the stream's `error` event: the next read or write throws the error.
 */
export class NodeTransport implements Transport {
  readonly #stream: Duplex;
  readonly #handle: TlsHandle | undefined;
  /** Bytes that no reader has taken. */
  readonly #received: Uint8Array[] = [];
  #isPaused = false;
  #reader: Reader | undefined;
  /** The write that is under way. */
  #writing: Promise<number> | undefined;
  #failWrite: ((reason: Error) => void) | undefined;
  #error: Error | undefined;
  #ended = false;
  #closed = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
    this.#handle = tlsHandleOf(stream);
    stream.on("end", () => {
      this.#ended = true;
      this.#endRead();
    });
    stream.on("error", (error) => {
      this.#error ??= error;
      this.#endRead();
    });
    stream.on("close", () => {
      this.#failWrite?.(this.#error ?? connectionReset());
      this.#endRead();
    });
    if (this.#handle === undefined) {
      stream.on("data", (chunk: Uint8Array) => this.#receive(chunk));
    } else this.#readFrom(this.#handle);
  }

  read(into: Uint8Array): Promise<number | null> {
    const count = this.#take(into);
    if (count > 0) return Promise.resolve(count);
    if (this.#ended || this.#closed) return Promise.resolve(null);
    const failure = this.#failure;
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      this.#reader = { into, resolve, reject };
      this.#resume();
    });
  }

  /** Resolves when the operating system has taken the bytes, so that they may be overwritten. */
  write(bytes: Uint8Array): Promise<number> {
    const failure = this.#failure;
    if (failure !== undefined) return Promise.reject(failure);
    return this.#writing = new Promise((resolve, reject) => {
      this.#failWrite = reject;
      this.#send(bytes, (error) => {
        this.#writing = this.#failWrite = undefined;
        if (error) reject(this.#error ?? error);
        else resolve(bytes.length);
      });
    });
  }

  async closeWrite(): Promise<void> {
    await this.#writing?.catch(() => {});
    if (this.#stream.destroyed) return;
    await new Promise<void>((resolve) => {
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
    this.#received.length = 0;
    this.#stream.destroy();
    this.#endRead();
  }

  get #failure(): Error | undefined {
    return this.#error ??
      (this.#stream.destroyed ? connectionReset() : undefined);
  }

  /** Takes over from the stream, which goes on to handle the end, and errors. */
  #readFrom(handle: TlsHandle): void {
    const early: unknown = this.#stream.read();
    if (early instanceof Uint8Array) this.#received.push(early);
    const { onread } = handle;
    handle.onread = (chunk) => {
      if (chunk !== undefined) return this.#receive(new Uint8Array(chunk));
      onread.call(handle, undefined);
      // It emits `end` when somebody reads.
      this.#stream.resume();
    };
    handle.readStart();
  }

  #receive(chunk: Uint8Array): void {
    this.#received.push(chunk);
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve(this.#take(reader.into));
    }
    if (this.#received.length > 0) this.#pause();
  }

  /** Moves received bytes; returns their number. */
  #take(into: Uint8Array): number {
    const [chunk] = this.#received;
    if (chunk === undefined) return 0;
    if (chunk.length <= into.length) {
      into.set(chunk);
      this.#received.shift();
      return chunk.length;
    }
    into.set(chunk.subarray(0, into.length));
    this.#received[0] = chunk.subarray(into.length);
    return into.length;
  }

  /** Ends a read that waits: no more bytes come. */
  #endRead(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    const failure = this.#ended || this.#closed ? undefined : this.#failure;
    if (failure === undefined) reader?.resolve(null);
    else reader?.reject(failure);
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    if (this.#handle === undefined) this.#stream.pause();
    else this.#handle.readStop();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#handle === undefined) this.#stream.resume();
    else this.#handle.readStart();
  }

  #send(bytes: Uint8Array, done: (error?: Error | null) => void): void {
    if (this.#handle === undefined) {
      this.#stream.write(bytes, done);
      return;
    }
    const oncomplete = (status: number) =>
      done(status < 0 ? connectionReset() : undefined);
    const status = this.#handle.writeBuffer({ oncomplete }, bytes);
    if (status !== 0) done(connectionReset());
  }
}

function connectionReset(): Error {
  return new Deno.errors.ConnectionReset(
    "Cannot use the connection: it was reset",
  );
}
