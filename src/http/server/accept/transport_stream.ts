import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { type Transport, writeAll } from "../../transport.ts";

const READ_BYTES = 16 * 1024;

/** Makes a transport a byte stream of Node's, for what is built on those; `early` is what was read from it before. */
export class TransportStream extends Duplex {
  readonly #transport: Transport;

  constructor(transport: Transport, early: Uint8Array) {
    super({ allowHalfOpen: true });
    this.#transport = transport;
    if (early.length > 0) this.push(Buffer.from(early));
  }

  override _read(): void {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    this.#transport.read(buffer).then(
      (count) => this.push(count === null ? null : buffer.subarray(0, count)),
      (error) => this.destroy(error),
    );
  }

  override _write(
    chunk: Uint8Array,
    _encoding: string,
    done: (error?: Error | null) => void,
  ): void {
    writeAll(this.#transport, chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#transport.closeWrite().then(() => done(), done);
  }

  override _destroy(
    error: Error | null,
    done: (error?: Error | null) => void,
  ): void {
    this.#transport.close();
    done(error);
  }
}
