import { GrowingBuffer } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** A message with a body. */
interface Bodied {
  body: Body | undefined;
}

/**
 * Reads the whole body of a message, and leaves it unchanged; `undefined` when it is longer than `maxBytes`.
 *
 * Needs at most twice `maxBytes` and one chunk of memory, even for very small chunks.
 */
export async function peekBody(
  message: Bodied,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const { body } = message;
  if (body === undefined) return new Uint8Array();
  if (body instanceof PeekedBody && body.whole !== undefined) {
    return body.whole.length > maxBytes ? undefined : body.whole;
  }
  if (body.length !== undefined && body.length > maxBytes) return undefined;
  const seen = new GrowingBuffer();
  while (seen.length <= maxBytes) {
    const next = body.read();
    // A small body is at hand, and needs no turn of the event loop.
    const chunk = next instanceof Promise ? await next : next;
    if (chunk === undefined) {
      const whole = seen.take();
      message.body = new PeekedBody(whole, body, whole);
      return whole;
    }
    seen.append(chunk);
  }
  message.body = new PeekedBody(seen.take(), body, undefined);
  return undefined;
}

/** Bytes that have been read, followed by those that have not. */
class PeekedBody implements Body {
  readonly length: number | undefined;
  /** The whole body, if all of it was read. */
  readonly whole: Uint8Array | undefined;
  readonly #source: Body;
  #seen: Uint8Array | undefined;

  constructor(seen: Uint8Array, source: Body, whole: Uint8Array | undefined) {
    this.length = source.length;
    this.whole = whole;
    this.#source = source;
    this.#seen = seen.length > 0 ? seen : undefined;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const seen = this.#seen;
    this.#seen = undefined;
    if (seen !== undefined) return seen;
    return this.whole === undefined ? this.#source.read() : undefined;
  }

  cancel(reason: unknown): void {
    this.#seen = undefined;
    this.#source.cancel(reason);
  }
}
