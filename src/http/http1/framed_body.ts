import type { Body } from "../body.ts";
import { ChunkedDecoder } from "./chunked_decoder.ts";
import type { BodyDecoder, BodyFraming } from "./framing.ts";
import type { HeaderList } from "../header_list.ts";
import { HttpSyntaxError } from "./http_syntax_error.ts";
import type { InputBuffer } from "./input_buffer.ts";

/** The connection of a body. */
export interface BodyOwner {
  /** Called before each wait for bytes, to set a deadline or send a 100 response. May be asynchronous. */
  waitingForBody(): void | Promise<void>;
  /** Called after each wait, with the number of bytes that it brought. */
  bodyArrived?(count: number): void;
  /** Called once after the last byte was returned: the connection may be used for the next message. */
  bodyEnded(): void;
  /** Called once when the body failed or was cancelled: the connection cannot be reused. */
  bodyAbandoned(reason: unknown): void;
  /** Returns the error for the reader, which attributes the failure. */
  translateBodyError(error: unknown): Error;
}

/** A body that is read from a connection on demand. */
export class FramedBody implements Body {
  readonly length: number | undefined;
  readonly hasHeadroom = true;
  readonly #input: InputBuffer;
  readonly #decoder: BodyDecoder;
  readonly #owner: BodyOwner;
  #done = false;
  #started = false;
  #cancelled: { readonly reason: unknown } | undefined;

  constructor(
    input: InputBuffer,
    framing: BodyFraming,
    owner: BodyOwner,
    maxTrailerBytes: number,
  ) {
    this.length = typeof framing === "number" ? framing : undefined;
    this.#input = input;
    this.#decoder = decoderFor(framing, maxTrailerBytes);
    this.#owner = owner;
  }

  get trailers(): HeaderList | undefined {
    return this.#decoder.trailers;
  }

  get hasArrived(): boolean | undefined {
    const { remaining } = this.#decoder;
    return remaining === undefined
      ? undefined
      : remaining <= this.#input.available;
  }

  /** The body has been read from. */
  get started(): boolean {
    return this.#started;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#cancelled !== undefined) {
      // Never `undefined`: a truncated body must not appear complete.
      return Promise.reject(this.#cancelled.reason);
    }
    if (this.#done) return undefined;
    this.#started = true;
    let decoded: Uint8Array | "more" | "end";
    try {
      decoded = this.#decoder.decode(this.#input);
    } catch (error) {
      return Promise.reject(this.#fail(error));
    }
    return decoded === "more" ? this.#readMore() : this.#handOut(decoded);
  }

  cancel(reason: unknown): void {
    if (this.#done) return;
    this.#done = true;
    this.#cancelled = { reason };
    this.#owner.bodyAbandoned(reason);
  }

  async #readMore(): Promise<Uint8Array | undefined> {
    try {
      this.#input.growForBody(this.length);
      for (;;) {
        await this.#owner.waitingForBody();
        const before = this.#input.available;
        const open = await this.#input.fill();
        this.#owner.bodyArrived?.(this.#input.available - before);
        if (this.#cancelled !== undefined) throw this.#cancelled.reason;
        if (!open) return this.#endOfInput();
        const decoded = this.#decoder.decode(this.#input);
        if (decoded !== "more") return this.#handOut(decoded);
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #handOut(decoded: Uint8Array | "end"): Uint8Array | undefined {
    if (decoded !== "end") return decoded;
    this.#done = true;
    this.#owner.bodyEnded();
    return undefined;
  }

  #endOfInput(): undefined {
    if (!this.#decoder.mayEndHere) {
      throw new HttpSyntaxError(
        "truncated",
        "Cannot read the body: the connection was closed inside it",
      );
    }
    this.#handOut("end");
  }

  #fail(error: unknown): unknown {
    if (this.#cancelled !== undefined) return this.#cancelled.reason;
    const translated = this.#owner.translateBodyError(error);
    this.cancel(translated);
    return translated;
  }
}

function decoderFor(
  framing: BodyFraming,
  maxTrailerBytes: number,
): BodyDecoder {
  if (framing === "chunked") return new ChunkedDecoder(maxTrailerBytes);
  if (framing === "until-close") return untilCloseDecoder;
  return new LengthDecoder(framing);
}

class LengthDecoder implements BodyDecoder {
  readonly mayEndHere = false;
  readonly trailers = undefined;
  remaining: number;

  constructor(length: number) {
    this.remaining = length;
  }

  decode(input: InputBuffer): Uint8Array | "more" | "end" {
    if (this.remaining === 0) return "end";
    if (input.available === 0) return "more";
    const bytes = input.take(this.remaining);
    this.remaining -= bytes.length;
    return bytes;
  }
}

const untilCloseDecoder: BodyDecoder = {
  mayEndHere: true,
  trailers: undefined,
  decode: (input) =>
    input.available === 0 ? "more" : input.take(input.available),
};
