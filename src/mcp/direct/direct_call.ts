import type { Clock } from "../../base/clock.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { BegunCall } from "../servers/begun_call.ts";
import {
  createDeadline,
  type MessageDeadline,
} from "../streams/message_deadline.ts";
import { findAnswerEvent } from "./answer_event.ts";
import {
  type AnswerForm,
  type AnswerOutline,
  outlineAnswer,
} from "./answer_outline.ts";
import { MAX_OUTLINED_BYTES } from "./call_outline.ts";
import { drain } from "./drain.ts";
import { SpooledBody } from "./spooled_body.ts";

/** An answer in more parts is read as others are. */
const MAX_PARTS = 16;

/** Options of a direct call. */
export interface DirectCallOptions {
  readonly clock: Clock;
  readonly call: BegunCall;
  readonly form: AnswerForm;
  /** An answer that takes longer, in milliseconds, is read as others are. */
  readonly limitMs: number;
  /** Responds with an answer. @param source Has the members of the outline. */
  respond(answer: AnswerOutline, source: Uint8Array): ResponseMessage;
  /** Handles the call as any other, from where it is. */
  readonly goOn: () => Promise<ResponseMessage>;
  /** Called once the response is found, or somebody else looks for it. */
  onEnd(): void;
}

/**
 * A call of a tool whose answer is passed on as bytes, if it comes soon, as one message, and with nothing to change in it. Any other,
 * and any failure, is handled by what handles all calls.
 */
export class DirectCall {
  readonly response: Promise<ResponseMessage>;
  readonly #options: DirectCallOptions;
  readonly #respond: (
    response: ResponseMessage | Promise<ResponseMessage>,
  ) => void;
  readonly #limit: MessageDeadline;
  #head: ResponseMessage | undefined;
  /** The body, with the part of it that was read. */
  #spooled: SpooledBody | undefined;
  #isOver = false;

  constructor(options: DirectCallOptions) {
    const { promise, resolve } = Promise.withResolvers<ResponseMessage>();
    this.response = promise;
    this.#respond = resolve;
    this.#options = options;
    this.#limit = createDeadline(options.clock, () => this.goOn());
    this.#limit.beginAbout(options.limitMs);
    void this.#run();
  }

  /** Handles the call as any other from now on. */
  goOn(): void {
    if (!this.#end()) return;
    if (this.#head !== undefined) {
      const received = { ...this.#head, body: this.#spooled };
      this.#options.call.response = Promise.resolve(received);
    }
    this.#respond(Promise.try(this.#options.goOn));
  }

  async #run(): Promise<void> {
    const { call, clock } = this.#options;
    try {
      const head = await call.response;
      if (this.#isOver) return;
      const { body } = head;
      const isStream = typeOfAnswer(head);
      if (body === undefined || isStream === undefined) return this.goOn();
      const spooled = new SpooledBody(body);
      this.#head = head;
      this.#spooled = spooled;
      for (let parts = 0; parts < MAX_PARTS; parts++) {
        const pending = spooled.readAhead();
        if (pending !== undefined) await pending;
        if (this.#isOver) return;
        const { bytes } = spooled;
        if (bytes.length > MAX_OUTLINED_BYTES) break;
        const span = isStream ? findAnswerEvent(bytes) : wholeOf(spooled);
        if (span === undefined) break;
        if (span === "more") {
          if (spooled.isWhole) break;
          continue;
        }
        const { form } = this.#options;
        const answer = outlineAnswer(bytes, span.start, span.end, form);
        if (answer === undefined) break;
        this.#finish(answer, bytes);
        return drain(body, clock);
      }
    } catch {
      // The call is handled with the same failure.
    }
    this.goOn();
  }

  #finish(answer: AnswerOutline, bytes: Uint8Array): void {
    if (!this.#end()) return;
    const { call, respond } = this.#options;
    call.take();
    const response = respond(answer, bytes);
    call.end(answer.isError ? "tool_error" : "ok");
    this.#respond(response);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#limit.lift();
    this.#options.onEnd();
    return true;
  }
}

/** Returns whether an answer is a stream of events; `undefined` for anything but an answer. */
function typeOfAnswer(
  { status, headers }: ResponseMessage,
): boolean | undefined {
  if (status !== 200 || headers.has("content-encoding")) return undefined;
  const type = headers.get("content-type") ?? "";
  if (/^application\/json\b/i.test(type)) return false;
  return /^text\/event-stream\b/i.test(type) ? true : undefined;
}

function wholeOf(body: SpooledBody) {
  return body.isWhole ? { start: 0, end: body.bytes.length } : "more";
}
