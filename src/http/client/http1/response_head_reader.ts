import {
  findHeadEnd,
  hasBareLineFeed,
  parseResponseHead,
  type ResponseHead,
} from "../../http1/head_parser.ts";
import { HttpSyntaxError, malformed } from "../../http1/http_syntax_error.ts";
import type { InputBuffer } from "../../http1/input_buffer.ts";
import { MAX_HEAD_BYTES, MAX_HEAD_FIELDS } from "../connection.ts";

const BEGINNING = "HTTP/";

/** Reads the response heads of one request, including interim responses. */
export class ResponseHeadReader {
  readonly #input: InputBuffer;
  #started = false;
  /** Bytes that do not contain the end of the head. */
  #searched = 0;

  constructor(input: InputBuffer) {
    this.#input = input;
  }

  /** A byte of the response has arrived. */
  get started(): boolean {
    return this.#started;
  }

  /**
   * Takes the next head; `undefined` when more input is needed, whose arrival goes to `filled`.
   * @throws {HttpSyntaxError} When the head is invalid.
   */
  take(): ResponseHead | undefined {
    const { bytes, start, end, available } = this.#input;
    const from = start + Math.max(0, this.#searched - 3);
    const headEnd = findHeadEnd(bytes, from, end);
    if ((headEnd < 0 ? end : headEnd) - start > MAX_HEAD_BYTES) {
      throw tooLarge();
    }
    if (headEnd >= 0) return this.#parse(headEnd);
    if (available > this.#searched) {
      checkPartialHead(this.#input, this.#searched);
    }
    this.#searched = available;
    return undefined;
  }

  /**
   * Notes that the input was filled.
   * @param open False when the upstream closed its side.
   * @throws {HttpSyntaxError} When the head is truncated.
   * @throws {Deno.errors.UnexpectedEof} When the connection ends before the head.
   */
  filled(open: boolean): void {
    if (!open) throw this.#closed();
    this.#started = true;
  }

  #parse(end: number): ResponseHead {
    const head = parseResponseHead(this.#input.bytes, this.#input.start, end);
    if (head.headers.size > MAX_HEAD_FIELDS) throw tooLarge();
    this.#input.start = end;
    this.#searched = 0;
    return head;
  }

  #closed(): Error {
    if (!this.#started) {
      return new Deno.errors.UnexpectedEof(
        "The connection was closed before a response",
      );
    }
    return new HttpSyntaxError(
      "truncated",
      "The connection was closed inside the head",
    );
  }
}

/** Rejects bytes that cannot become a valid head, instead of waiting for its end. */
function checkPartialHead(
  { bytes, start, end, available }: InputBuffer,
  searched: number,
): void {
  const seen = Math.min(available, BEGINNING.length);
  const beginning = bytes.toString("latin1", start, start + seen);
  if (!BEGINNING.startsWith(beginning)) {
    throw malformed("Cannot read the response: it does not begin with HTTP/");
  }
  if (hasBareLineFeed(bytes, start, end, searched)) {
    throw malformed("Cannot read the response: a line ends without CR");
  }
}

function tooLarge(): HttpSyntaxError {
  return new HttpSyntaxError("too_large", "The head is too large");
}
