import { allocateBytes, GrowingBuffer } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** A message with a body. */
interface Bodied {
  body: Body | undefined;
  /** Counts the memory of the body, until it is forwarded. */
  readonly held?: HeldBytes | undefined;
}

/** Memory before the first bytes have arrived. */
const INITIAL_BYTES = 2048;

/**
 * Reads the whole body of a message, and leaves it unchanged; `undefined` when it is longer than `maxBytes`.
 *
 * Needs at most twice `maxBytes` and one chunk of memory, even for very small chunks.
 * @throws {GatewayError} `body_memory_full`, when all requests together hold too much.
 */
export function peekBody(
  message: Bodied,
  maxBytes: number,
): Uint8Array | undefined | Promise<Uint8Array | undefined> {
  const { body, held } = message;
  if (body === undefined) return new Uint8Array();
  if (body instanceof PeekedBody && body.whole !== undefined) {
    return body.whole.length > maxBytes ? undefined : body.whole;
  }
  if (body.length !== undefined && body.length > maxBytes) return undefined;
  const seen = new GrowingBuffer(
    allocateBytes(Math.min(body.length ?? 0, INITIAL_BYTES)),
    body.length,
  );
  // A small body is at hand, and needs no turn of the event loop.
  const pending = readAvailable(body, seen, maxBytes, held);
  return pending === undefined
    ? finish(message, body, seen, maxBytes)
    : readRest(pending, message, body, seen, maxBytes);
}

/** Reads what is at hand; returns the chunk that has to be waited for, or nothing at the end and beyond the limit. */
function readAvailable(
  body: Body,
  seen: GrowingBuffer,
  maxBytes: number,
  held: HeldBytes | undefined,
): Promise<Uint8Array | undefined> | undefined {
  while (seen.length <= maxBytes) {
    const chunk = body.read();
    if (chunk instanceof Promise) return chunk;
    if (chunk === undefined) break;
    held?.take(chunk.length);
    seen.append(chunk);
  }
  return undefined;
}

async function readRest(
  first: Promise<Uint8Array | undefined>,
  message: Bodied,
  body: Body,
  seen: GrowingBuffer,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const { held } = message;
  let next: typeof first | undefined = first;
  while (next !== undefined) {
    const chunk: Uint8Array | undefined = await next;
    if (chunk === undefined) break;
    held?.take(chunk.length);
    seen.append(chunk);
    next = readAvailable(body, seen, maxBytes, held);
  }
  return finish(message, body, seen, maxBytes);
}

function finish(
  message: Bodied,
  body: Body,
  seen: GrowingBuffer,
  maxBytes: number,
): Uint8Array | undefined {
  const isWhole = seen.length <= maxBytes;
  const bytes = seen.take();
  message.body = new PeekedBody(bytes, body, isWhole, message.held);
  return isWhole ? bytes : undefined;
}

/** Bytes that have been read, followed by those that have not. */
class PeekedBody implements Body {
  readonly length: number | undefined;
  readonly #source: Body;
  readonly #isWhole: boolean;
  readonly #held: HeldBytes | undefined;
  /** Undefined once it was forwarded. */
  #seen: Uint8Array | undefined;
  #isPassedOn = false;

  constructor(
    seen: Uint8Array,
    source: Body,
    isWhole: boolean,
    held: HeldBytes | undefined,
  ) {
    this.length = source.length;
    this.#source = source;
    this.#isWhole = isWhole;
    this.#held = held;
    this.#seen = seen;
  }

  /** The whole body, if all of it was read, and until it is forwarded. */
  get whole(): Uint8Array | undefined {
    return this.#isWhole ? this.#seen : undefined;
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (!this.#isPassedOn) {
      this.#isPassedOn = true;
      if (this.#seen !== undefined && this.#seen.length > 0) return this.#seen;
    }
    // A reader that goes on has written its last chunk.
    this.#drop();
    return this.#isWhole ? undefined : this.#source.read();
  }

  cancel(reason: unknown): void {
    this.#isPassedOn = true;
    this.#drop();
    this.#source.cancel(reason);
  }

  #drop(): void {
    if (this.#seen === undefined) return;
    this.#held?.release(this.#seen.length);
    this.#seen = undefined;
  }
}
