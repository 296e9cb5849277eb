import type { Clock } from "../../base/clock.ts";
import type { Body } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type {
  BodySnapshot,
  RequestStage,
  ResponseStage,
  TraceEvent,
  TraceMessage,
  TraceSeverity,
} from "../../telemetry/trace/trace_event.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import { severityOf } from "../../telemetry/trace/trace_severity.ts";
import type { RequestState } from "../../telemetry/trace/trace_state.ts";
import { BodyCapture } from "./body_capture.ts";
import {
  privateClaims,
  readIdentities,
  readState,
  type TracedRequest,
} from "./request_state.ts";

/** Dependencies of a recorder. */
export interface TraceRecorderOptions {
  readonly clock: Clock;
  readonly redactor: TraceRedactor;
  readonly emit: (event: TraceEvent) => void;
}

/** Creates the events of one request: reads its state, redacts it, and adds times and severity. */
export class TraceRecorder {
  readonly #exchange: TracedRequest;
  readonly #options: TraceRecorderOptions;
  readonly #bodies: BodyCapture[] = [];
  #seenRequest = "";
  #seenResponse = "";
  #calledAt: number | undefined;
  #isOver = false;
  /** Start of the current attempt, in milliseconds since the request was accepted. */
  attemptStartedAt = 0;

  constructor(exchange: TracedRequest, options: TraceRecorderOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  /** @param startedAt For an event that took time: milliseconds since the request was accepted. */
  emit(
    message: TraceMessage,
    startedAt?: number,
    severity: TraceSeverity = severityOf(message),
  ): void {
    // The watcher may have been assigned the next request by now.
    if (this.#isOver) return;
    this.#isOver = message.type === "requestFinished";
    const { emit, redactor } = this.#options;
    emit({
      eventStart: startedAt === undefined ? null : toMicros(startedAt),
      eventEnd: toMicros(this.now()),
      severity,
      // A body is redacted before it becomes base64.
      message: message.type === "bodySnapshot"
        ? message
        : redactor.json(message),
    });
  }

  snapshotRequest(stage: RequestStage): void {
    const requestState = this.read();
    this.emit({ type: "requestSnapshot", stage, requestState });
  }

  snapshotResponse(stage: ResponseStage, response: ResponseMessage): void {
    const requestState = this.read(response);
    this.emit({ type: "responseSnapshot", stage, requestState });
  }

  /** Reads the request and the response; later changes are relative to this state. */
  read(response?: ResponseMessage): RequestState {
    const { redactor } = this.#options;
    const { request, originalRequest } = this.#exchange;
    redactor.learn(request.headers, request.target);
    redactor.learn(
      response?.headers ?? request.headers,
      originalRequest.target,
    );
    for (const claims of privateClaims(this.#exchange)) {
      redactor.learnClaims(claims);
    }
    const state = readState(
      this.#exchange,
      redactor,
      this.#calledAt,
      response,
    );
    if (response === undefined) {
      const identities = readIdentities(this.#exchange, redactor);
      this.#seenRequest = JSON.stringify([state.request, identities]);
    } else this.#seenResponse = JSON.stringify(state.response);
    return state;
  }

  /** Returns whether the request has changed since it was last read. */
  hasRequestChanged(): boolean {
    const before = this.#seenRequest;
    this.read();
    return this.#seenRequest !== before;
  }

  /** Returns whether the response has changed since it was last read. */
  hasResponseChanged(response: ResponseMessage): boolean {
    const before = this.#seenResponse;
    this.read(response);
    return this.#seenResponse !== before;
  }

  callStarts(): void {
    this.attemptStartedAt = this.now();
    this.#calledAt ??= this.attemptStartedAt;
  }

  /** Wraps a body so that an event with what was read of it follows its end. */
  capture(
    body: Body | undefined,
    stage: BodySnapshot["stage"],
  ): Body | undefined {
    if (body === undefined) return undefined;
    const capture = new BodyCapture(
      body,
      this.#options.redactor,
      (captured) => this.emit({ type: "bodySnapshot", stage, ...captured }),
    );
    this.#bodies.push(capture);
    return capture.body;
  }

  /** Ends all captures: the bodies will not be read further. */
  endBodies(): void {
    for (const body of this.#bodies) body.end();
  }

  /** Returns the milliseconds since the request was accepted. */
  now(): number {
    return this.#options.clock.monotonic() - this.#exchange.startedAt;
  }
}

function toMicros(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
