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
    const { call, limitMs, cancellation } = this.#facts;
    this.#limit.beginAbout(limitMs);
    this.#unsubscribe = cancellation.onCancel(this.#goOn);
    call.response.then(this.#begin, this.#goOn);
    return this.#response.promise;
  }

  /** Hands the call over to what handles all, which meets the same failure if there is one. */
  readonly #goOn = (): void => {
    if (!this.#end()) return;
    if (this.#head !== undefined) {
      const received = { ...this.#head, body: this.#spooled };
      this.#facts.call.response = Promise.resolve(received);
    }
    this.#response.resolve(Promise.try(() => this.handleAsAny()));
  };

  readonly #begin = (head: ResponseMessage): void => {
    if (this.#isOver) return;
    const { body } = head;
    const isStream = typeOfAnswer(head);
    if (body === undefined || isStream === undefined) return this.#goOn();
    const spooled = new SpooledBody(body);
    this.#head = head;
    this.#spooled = spooled;
    try {
      const pending = spooled.readAhead();
      // Most answers come with their head, and need none of the promises of an asynchronous function.
      if (pending === undefined && this.#look(spooled, isStream)) return;
      void this.#readOn(pending ?? spooled.readAhead(), spooled, isStream);
    } catch {
      // The call is handled with the same failure.
      this.#goOn();
    }
  };

  async #readOn(
    pending: void | Promise<void>,
    spooled: SpooledBody,
    isStream: boolean,
  ): Promise<void> {
    try {
      await pending;
      for (let parts = 1; !this.#look(spooled, isStream); parts++) {
        if (parts === MAX_PARTS) break;
        await spooled.readAhead();
      }
    } catch {
      // The call is handled with the same failure.
    }
    this.#goOn();
  }

  /** Looks for the answer in what was read; returns false if it may come with the next part. */
  #look(spooled: SpooledBody, isStream: boolean): boolean {
    if (this.#isOver) return true;
    const { bytes } = spooled;
    const span = bytes.length > MAX_OUTLINED_BYTES
      ? undefined
      : isStream
      ? findAnswerEvent(bytes)
      : wholeOf(spooled);
    if (span === "more" && !spooled.isWhole) return false;
    const answer = span === undefined || span === "more"
      ? undefined
      : outlineAnswer(bytes, span.start, span.end, this.#facts.form);
    if (answer === undefined) this.#goOn();
    else this.#finish(answer, spooled);
    return true;
  }

  #finish(answer: AnswerOutline, spooled: SpooledBody): void {
    if (!this.#end()) return;
    const { call } = this.#facts;
    call.take();
    try {
      const response = this.respond(answer, spooled.bytes);
      call.end(answer.isError ? "tool_error" : "ok");
      this.#response.resolve(response);
    } catch (error) {
      // Nobody else ends the request any more.
      this.#response.reject(error);
    }
    drain(spooled.source, this.#clock);
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
