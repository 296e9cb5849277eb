import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { GrowingBuffer } from "../../base/bytes.ts";

/** Message length, headers length, and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** Events of Bedrock are small pieces of text; larger messages are not needed. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Parses `application/vnd.amazon.eventstream`, in any chunking (Smithy, "Event stream specification").
 *
 * Parsing stops after a message that is malformed, corrupt or longer than 1 MiB, as the start of the next one is unknown.
 */
export class AwsEventStream {
  readonly #onPayload: (payload: Uint8Array) => void;
  readonly #pending = new GrowingBuffer();
  #isBroken = false;

  /** `onPayload` receives the payload of each message; it is valid only during the call. */
  constructor(onPayload: (payload: Uint8Array) => void) {
    this.#onPayload = onPayload;
  }

  push(bytes: Uint8Array): void {
    if (this.#isBroken) return;
    this.#pending.append(bytes);
    const { view } = this.#pending;
    let done = 0;
    while (!this.#isBroken) {
      const length = this.#readMessage(view.subarray(done));
      if (length === 0) break;
      done += length;
    }
    this.#pending.discard(this.#isBroken ? view.length : done);
  }

  /** Reads the message at the start and returns its length; 0 when it is incomplete or invalid. */
  #readMessage(bytes: Uint8Array): number {
    if (bytes.length < PRELUDE_BYTES) return 0;
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const length = message.readUInt32BE(0);
    const payloadStart = PRELUDE_BYTES + message.readUInt32BE(4);
    const payloadEnd = length - CHECKSUM_BYTES;
    this.#isBroken = length > MAX_MESSAGE_BYTES || payloadStart > payloadEnd ||
      crc32(message.subarray(0, 8)) !== message.readUInt32BE(8);
    if (this.#isBroken || bytes.length < length) return 0;
    this.#isBroken = crc32(message.subarray(0, payloadEnd)) !==
      message.readUInt32BE(payloadEnd);
    if (this.#isBroken) return 0;
    this.#onPayload(bytes.subarray(payloadStart, payloadEnd));
    return length;
  }
}
