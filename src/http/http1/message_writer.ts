import { Buffer } from "node:buffer";
import type { Body } from "../body.ts";
import type { HeaderList } from "../header_list.ts";
import { type Transport, writeAll } from "../transport.ts";

const INITIAL_BYTES = 2 * 1024;
/** A chunk of 16 KiB, common for servers, and the bytes before it. */
const COALESCE_BYTES = 20 * 1024;
/** Copying the head in front of the end of a body costs less than copying that end behind the head, if it is longer. */
const IN_PLACE_BYTES = 4 * 1024;
const encoder = new TextEncoder();

/** Framing of an outgoing body: no body, its declared length, chunked, or terminated by closing the connection. */
export type OutgoingFraming = "none" | "length" | "chunked" | "until-close";

/**
 * Writes messages to a connection in as few writes as possible.
 *
 * It gathers available bytes and flushes before each wait: a small response is one write, and events of a stream are never
 * delayed.
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
   * @param onProgress Called with the number of body bytes so far whenever bytes were written.
   * @throws Errors of the transport or the body; the connection is then in an undefined state.
   */
  async writeMessage(
    head: string,
    body: Body | undefined,
    framing: OutgoingFraming,
    onProgress?: (bodyBytes: number) => void,
  ): Promise<number> {
    this.#putText(head);
    let sent = 0;
    while (body !== undefined && framing !== "none") {
      const next = body.read();
      const chunk = next instanceof Promise
        ? await this.#flushThenAwait(next)
        : next;
      if (chunk === undefined) break;
      sent += chunk.length;
      if (framing === "chunked") {
        this.#putText(chunk.length.toString(16) + "\r\n");
      }
      const isLast = sent === body.length;
      const overflow = this.#putBytes(chunk, body, isLast);
      if (overflow !== undefined) await overflow;
      if (framing === "chunked") this.#putText("\r\n");
      onProgress?.(sent);
    }
    if (framing === "chunked") this.#putText(lastChunk(body?.trailers));
    assertLength(body, framing, sent);
    // The messages of one turn are written one after the other, which wakes peers less often.
    if (sent > 0) await undefined;
    const bytes = this.#takeGathered();
    // One write nearly always suffices; `writeAll` would cost every message another promise.
    const written = bytes.length > 0 ? await this.#transport.write(bytes) : 0;
    if (written < bytes.length) {
      await writeAll(this.#transport, bytes.subarray(written));
    }
    return sent;
  }

  async #flushThenAwait(
    next: Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    try {
      await this.#flush();
    } catch (error) {
      // The failed write is reported; the result of `next` no longer matters.
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
    // Heads are Latin-1, which equals UTF-8 only for ASCII.
    this.#used += this.#out.write(text, this.#used, "latin1");
  }

  #putBytes(
    bytes: Uint8Array,
    { hasHeadroom }: Body,
    isLast: boolean,
  ): Promise<void> | undefined {
    const isLong = this.#used + bytes.length > COALESCE_BYTES;
    const hasRoom = hasHeadroom && bytes.byteOffset >= this.#used;
    if (hasRoom && (isLong || (isLast && bytes.length >= IN_PLACE_BYTES))) {
      return this.#flushInFrontOf(bytes);
    }
    if (isLong) return this.#flushWith(bytes);
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
    const bytes = this.#takeGathered();
    return bytes.length > 0
      ? writeAll(this.#transport, bytes)
      : Promise.resolve();
  }

  /** Returns the bytes that are not sent yet, as a view that is valid until the next message. */
  #takeGathered(): Uint8Array {
    const { buffer, byteOffset } = this.#out;
    // `subarray` of a buffer takes longer.
    const bytes = new Uint8Array(buffer, byteOffset, this.#used);
    this.#used = 0;
    return bytes;
  }
}

function lastChunk(trailers: HeaderList | undefined): string {
  return trailers === undefined
    ? "0\r\n\r\n"
    : `0\r\n${trailers.serialize()}\r\n`;
}

/** Throws for a truncated message, so that the caller closes the connection and it does not appear complete. */
function assertLength(
  body: Body | undefined,
  framing: OutgoingFraming,
  sent: number,
): void {
  if (framing !== "length" || sent === (body?.length ?? 0)) return;
  throw new RangeError(
    `Cannot finish the message: expected ${body?.length} bytes, got ${sent}`,
  );
}
