import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { BegunCall } from "../servers/begun_call.ts";
import { MessageDeadline } from "../streams/message_deadline.ts";
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

/** Facts about a direct call. */
export interface DirectCallFacts {
  readonly call: BegunCall;
  readonly form: AnswerForm;
  /** An answer that takes longer, in milliseconds, is read as others are. */
  readonly limitMs: number;
  /** Of who wants the answer: handles the call as any other. */
  readonly cancellation: Cancellation;
}

/**
 * A call of a tool whose answer is passed on as bytes, if it comes soon, as one message, and with nothing to change in it. Any other,
 * and any failure, is handled by what handles all calls.
 */
export abstract class DirectCall {
  readonly #facts: DirectCallFacts;
  readonly #clock: Clock;
  readonly #limit: MessageDeadline;
  #unsubscribe = unsubscribed;
  readonly #response = Promise.withResolvers<ResponseMessage>();
  #head: ResponseMessage | undefined;
  /** The body, with the part of it that was read. */
  #spooled: SpooledBody | undefined;
  #isOver = false;

  constructor(facts: DirectCallFacts, clock: Clock) {
    this.#facts = facts;
    this.#clock = clock;
    this.#limit = new MessageDeadline(clock, this.#goOn);
  }

  /** Responds with an answer. @param source Has the members of the outline. */
  abstract respond(
    answer: AnswerOutline,
    source: Uint8Array,
  ): ResponseMessage;

  /** Handles the call as any other, from where it is. */
  abstract handleAsAny(): Promise<ResponseMessage>;

  /** Waits for the answer; called once. */
  run(): Promise<ResponseMessage> {
    const { limitMs, cancellation } = this.#facts;
    this.#limit.beginAbout(limitMs);
    this.#unsubscribe = cancellation.onCancel(this.#goOn);
    void this.#run();
    return this.#response.promise;
  }

  readonly #goOn = (): void => {
    if (!this.#end()) return;
    if (this.#head !== undefined) {
      const received = { ...this.#head, body: this.#spooled };
      this.#facts.call.response = Promise.resolve(received);
    }
    this.#response.resolve(Promise.try(() => this.handleAsAny()));
  };

  async #run(): Promise<void> {
    const { call, form } = this.#facts;
    try {
      const head = await call.response;
      if (this.#isOver) return;
      const { body } = head;
      const isStream = typeOfAnswer(head);
      if (body === undefined || isStream === undefined) return this.#goOn();
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
        const answer = outlineAnswer(bytes, span.start, span.end, form);
        if (answer === undefined) break;
        this.#finish(answer, bytes);
        return drain(body, this.#clock);
      }
    } catch {
      // The call is handled with the same failure.
    }
    this.#goOn();
  }

  #finish(answer: AnswerOutline, bytes: Uint8Array): void {
    if (!this.#end()) return;
    const { call } = this.#facts;
    call.take();
    const response = this.respond(answer, bytes);
    call.end(answer.isError ? "tool_error" : "ok");
    this.#response.resolve(response);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#limit.lift();
    this.#unsubscribe();
    return true;
  }
}

function unsubscribed(): void {}

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
