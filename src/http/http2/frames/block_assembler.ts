import { Buffer } from "node:buffer";
import { Http2ConnectionError } from "./http2_error.ts";
import { ERROR_CODES, FRAME_HEADER_BYTES } from "./http2_protocol.ts";

/** Limit of empty frames, which a limit of bytes does not cover. */
const MAX_EMPTY_FRAMES = 16;

/** Assembles a header block from HEADERS and CONTINUATION frames. */
export class BlockAssembler {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly #maxBytes: number;
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  constructor(streamId: number, endStream: boolean, maxBytes: number) {
    this.streamId = streamId;
    this.endStream = endStream;
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds a copy of a part.
   * @throws {Http2ConnectionError} `ENHANCE_YOUR_CALM`, if there are too many parts, or they are too large.
   */
  add(part: Uint8Array): void {
    this.#parts.push(new Uint8Array(part));
    this.#size += part.length === 0
      ? this.#maxBytes / MAX_EMPTY_FRAMES
      : FRAME_HEADER_BYTES + part.length;
    if (this.#size <= this.#maxBytes) return;
    throw new Http2ConnectionError(
      ERROR_CODES.enhanceYourCalm,
      "a header block is too large",
    );
  }

  /** Returns the whole block. */
  join(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}
