import type { Clock } from "../../base/clock.ts";
import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { MessageDeadline } from "./message_deadline.ts";
import type { MessageStream } from "./message_stream.ts";

/** Proxies and clients give up a response that does not begin for long. */
export const STREAM_AFTER_MS = 10_000;

/** Creates a response with a JSON body. */
export function jsonResponse(
  json: string | Uint8Array,
  status = 200,
): ResponseMessage {
  const headers = new HeaderList(["content-type", "application/json"]);
  const body = typeof json === "string" ? textBody(json) : new BytesBody(json);
  return { status, headers, body };
}

/** The HTTP response to a request: JSON if its result comes first, and a stream of events if other messages do. */
export class Answer {
  readonly response: Promise<ResponseMessage>;
  readonly #respond: (response: ResponseMessage) => void;
  readonly #stream: MessageStream | undefined;
  readonly #limit: MessageDeadline;
  #hasBegun = false;
  #isOver = false;

  /** @param stream Of a client that reads streams. */
  constructor(clock: Clock, stream: MessageStream | undefined) {
    const { promise, resolve } = Promise.withResolvers<ResponseMessage>();
    this.response = promise;
    this.#respond = resolve;
    this.#stream = stream;
    this.#limit = new MessageDeadline(clock, () => this.#begin());
    this.#limit.begin(STREAM_AFTER_MS);
  }

  /** True if the client can receive messages before the result. */
  get canStream(): boolean {
    return this.#stream !== undefined;
  }

  /** Sends a message before the result; it is lost for clients that read no streams. */
  send(text: string): void {
    this.#begin();
    this.#stream?.send(text);
  }

  /** Begins a stream of events now. */
  begin(): void {
    this.#begin();
  }

  /** Sends the result. @param status Of a response that has not begun. */
  finish(text: string, status = 200): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#limit.lift();
    if (!this.#hasBegun) {
      this.#respond(jsonResponse(text, status));
      return;
    }
    this.#stream?.send(text);
    this.#stream?.end();
  }

  /** Ends the response without a result. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#limit.lift();
    if (this.#hasBegun) this.#stream?.end();
    else {
      this.#respond({
        status: 202,
        headers: new HeaderList(),
        body: undefined,
      });
    }
  }

  #begin(): void {
    if (this.#hasBegun || this.#isOver || this.#stream === undefined) return;
    this.#hasBegun = true;
    this.#limit.lift();
    this.#respond(this.#stream.connect());
  }
}
