/** Receives the messages of a WebSocket. */
export interface MessageSink {
  /** Receives the next bytes of a message. */
  push(bytes: Uint8Array): void;
  /** A message has ended. */
  end(): void;
}

const CONTINUATION = 0;
const BINARY = 2;
const CLOSE = 8;
const PONG = 10;
const MAX_CONTROL_BYTES = 125;
const LONGEST_HEAD = 10;

/**
 * Finds the messages that a server sends on a WebSocket (RFC 6455) without extensions, and keeps nothing but the head of a frame.
 */
export class WebSocketMessages {
  readonly #sink: MessageSink;
  readonly #head = new Uint8Array(LONGEST_HEAD);
  #headLength = 0;
  /** Bytes of the payload that are still missing; `undefined` between frames. */
  #missing: number | undefined;
  #isControl = false;
  /** The frame is the last one of its message. */
  #isLast = false;
  #isInMessage = false;
  #isBroken = false;

  constructor(sink: MessageSink) {
    this.#sink = sink;
  }

  /** True once the bytes are no frames that a client accepts: nothing more is read. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Reads bytes from an offset to the end of a message, or to their own; returns where that is. */
  push(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && !this.#isBroken) {
      if (this.#missing === undefined) {
        this.#head[this.#headLength++] = bytes[at++] ?? 0;
        this.#missing = this.#readHead();
      } else {
        const end = Math.min(bytes.length, at + this.#missing);
        if (!this.#isControl) this.#sink.push(bytes.subarray(at, end));
        this.#missing -= end - at;
        at = end;
      }
      if (this.#missing === 0 && this.#endFrame()) return at;
    }
    return bytes.length;
  }

  /** Returns the length of the payload once the head is complete. */
  #readHead(): number | undefined {
    const [first = 0, second = 0] = this.#head;
    if (this.#headLength < 2) return undefined;
    const short = second & 0x7f;
    const width = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (this.#headLength < 2 + width) return undefined;
    const length = width === 0
      ? short
      : this.#head.subarray(2, 2 + width).reduce(
        (sum, byte) => sum * 256 + byte,
        0,
      );
    const opcode = first & 0x0f;
    this.#isLast = (first & 0x80) !== 0;
    this.#isControl = opcode >= CLOSE;
    // A server masks nothing, and an extension that nobody offered would set the reserved bits.
    const isKnown = (first & 0x70) === 0 && (second & 0x80) === 0 &&
      length <= Number.MAX_SAFE_INTEGER &&
      (this.#isControl
        ? opcode <= PONG && this.#isLast && length <= MAX_CONTROL_BYTES
        : opcode <= BINARY &&
          (opcode === CONTINUATION) === this.#isInMessage);
    if (!isKnown) this.#isBroken = true;
    return isKnown ? length : undefined;
  }

  /** Returns whether a message ends with the frame. */
  #endFrame(): boolean {
    this.#missing = undefined;
    this.#headLength = 0;
    if (this.#isControl) return false;
    this.#isInMessage = !this.#isLast;
    if (this.#isLast) this.#sink.end();
    return this.#isLast;
  }
}

/** Returns the frame by which a server closes a WebSocket. @param reason At most 123 bytes of ASCII. */
export function closeFrame(code: number, reason: string): Uint8Array {
  const text = new TextEncoder().encode(reason);
  return Uint8Array.of(
    0x80 | CLOSE,
    text.length + 2,
    code >> 8,
    code & 0xff,
    ...text,
  );
}
