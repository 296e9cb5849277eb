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

/** Source of response heads. */
export interface ResponseSource {
  readonly input: InputBuffer;
  /** Reads more into `input`; returns `false` when the upstream closed its side. */
  fill(): Promise<boolean>;
}

/** Reads the response heads of one request, including interim responses. */
export class ResponseHeadReader {
  readonly #source: ResponseSource;
  #started = false;

  constructor(source: ResponseSource) {
    this.#source = source;
  }

  /** A byte of the response has arrived. */
  get started(): boolean {
    return this.#started;
  }

  /**
   * Reads the next head.
   * @throws {HttpSyntaxError} When the head is invalid or truncated.
   * @throws {Deno.errors.UnexpectedEof} When the connection ends before the head.
   */
  async read(): Promise<ResponseHead> {
    const { input } = this.#source;
    for (let searched = 0;;) {
      const from = input.start + Math.max(0, searched - 3);
      const headEnd = findHeadEnd(input.bytes, from, input.end);
      const end = headEnd < 0 ? input.end : headEnd;
      if (end - input.start > MAX_HEAD_BYTES) throw tooLarge();
      if (headEnd >= 0) return this.#parse(headEnd);
      if (input.available > searched) checkPartialHead(input, searched);
      searched = input.available;
      if (!await this.#source.fill()) throw this.#closed();
      this.#started = true;
    }
  }

  #parse(end: number): ResponseHead {
    const { input } = this.#source;
    const head = parseResponseHead(input.bytes, input.start, end);
    if (head.headers.size > MAX_HEAD_FIELDS) throw tooLarge();
    input.start = end;
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
