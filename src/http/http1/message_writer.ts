import { Buffer } from "node:buffer";
import type { Body } from "../body.ts";
import type { HeaderList } from "../header_list.ts";
import { type Transport, writeAll } from "../transport.ts";

const INITIAL_BYTES = 2 * 1024;
/** A chunk of 16 KiB, as many servers cut theirs, and what is written in front of it. */
const COALESCE_BYTES = 20 * 1024;
const encoder = new TextEncoder();

/** How a body is delimited on the way out: not at all, as it says itself, by chunks, or by closing. */
export type OutgoingFraming = "none" | "length" | "chunked" | "until-close";

/**
 * Writes messages to one connection, in as few writes as possible.
 *
 * What is at hand is gathered, and sent before the first wait: a small answer is one write, and an event of a stream is
 * never held back.
 */
export class MessageWriter {
  readonly #transport: Transport;
  #out = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #used = 0;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Writes head and body; resolves with the number of body bytes.
   * @param onProgress Called with the body bytes so far each time that bytes went out.
   * @throws What the transport or the body throws; the connection is then in an unknown state.
   */
  async writeMessage(
    head: string,
    body: Body | undefined,
    framing: OutgoingFraming,
    onProgress?: (bodyBytes: number) => void,
  ): Promise<number> {
    this.#putText(head);
    const sent = body === undefined || framing === "none"
      ? 0
      : await this.#writeBody(body, framing, onProgress);
    await this.#flush();
    return sent;
  }

  async #writeBody(
    body: Body,
    framing: OutgoingFraming,
    onProgress: ((bodyBytes: number) => void) | undefined,
  ): Promise<number> {
    let sent = 0;
    for (;;) {
      const next = body.read();
      const chunk = next instanceof Promise
        ? await this.#flushThenAwait(next)
        : next;
      if (chunk === undefined) break;
      sent += chunk.length;
      if (framing === "chunked") {
        this.#putText(chunk.length.toString(16) + "\r\n");
      }
      const overflow = this.#putBytes(chunk, body);
      if (overflow !== undefined) await overflow;
      if (framing === "chunked") this.#putText("\r\n");
      onProgress?.(sent);
    }
    if (framing === "chunked") this.#putText(lastChunk(body.trailers));
    expectLength(body, framing, sent);
    return sent;
  }

  async #flushThenAwait(
    next: Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    try {
      await this.#flush();
    } catch (error) {
      // The failed write is the news; what becomes of the chunk no longer matters.
      next.catch(() => {});
      throw error;
    }
    return await next;
  }

  #putText(text: string): void {
    this.#reserve(text.length);
    const room = this.#used === 0 ? this.#out : this.#out.subarray(this.#used);
    const { read, written } = encoder.encodeInto(text, room);
    if (read === written && read === text.length) {
      this.#used += written;
      return;
    }
    // Heads are Latin-1; UTF-8 writes the same bytes only for ASCII.
    this.#used += this.#out.write(text, this.#used, "latin1");
  }

  #putBytes(
    bytes: Uint8Array,
    { hasHeadroom }: Body,
  ): Promise<void> | undefined {
    if (this.#used + bytes.length > COALESCE_BYTES) {
      return hasHeadroom && bytes.byteOffset >= this.#used
        ? this.#flushInFrontOf(bytes)
        : this.#flushWith(bytes);
    }
    this.#reserve(bytes.length);
    this.#out.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  #flushInFrontOf(bytes: Uint8Array): Promise<void> {
    const ahead = this.#out.subarray(0, this.#used);
    this.#used = 0;
    const all = new Uint8Array(
      bytes.buffer,
      bytes.byteOffset - ahead.length,
      ahead.length + bytes.length,
    );
    all.set(ahead);
    return writeAll(this.#transport, all);
  }

  async #flushWith(bytes: Uint8Array): Promise<void> {
    await this.#flush();
    await writeAll(this.#transport, bytes);
  }

  #reserve(count: number): void {
    if (this.#used + count <= this.#out.length) return;
    const needed = this.#used + count;
    const doubled = Math.min(this.#out.length * 2, COALESCE_BYTES);
    const larger = Buffer.allocUnsafeSlow(Math.max(doubled, needed));
    larger.set(this.#out.subarray(0, this.#used));
    this.#out = larger;
  }

  #flush(): Promise<void> {
    if (this.#used === 0) return Promise.resolve();
    const bytes = this.#out.subarray(0, this.#used);
    this.#used = 0;
    return writeAll(this.#transport, bytes);
  }
}

function lastChunk(trailers: HeaderList | undefined): string {
  return trailers === undefined
    ? "0\r\n\r\n"
    : `0\r\n${trailers.serialize()}\r\n`;
}

/** A message that ends early must not look complete: the caller closes the connection. */
function expectLength(
  body: Body,
  framing: OutgoingFraming,
  sent: number,
): void {
  if (framing !== "length" || sent === body.length) return;
  throw new RangeError(
    `Cannot finish the message: expected ${body.length} bytes, got ${sent}`,
  );
}
