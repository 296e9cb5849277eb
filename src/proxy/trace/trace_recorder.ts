import type { Clock } from "../../base/clock.ts";
import type { Body } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type {
  BodySnapshot,
  RequestStage,
  ResponseStage,
  TraceEvent,
  TraceMessage,
} from "../../telemetry/trace/trace_event.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import { severityOf } from "../../telemetry/trace/trace_severity.ts";
import type { RequestState } from "../../telemetry/trace/trace_state.ts";
import { BodyCapture } from "./body_capture.ts";
import { readState, type TracedRequest } from "./request_state.ts";

/** What recording needs of its surroundings. */
export interface TraceRecorderOptions {
  readonly clock: Clock;
  readonly redactor: TraceRedactor;
  readonly emit: (event: TraceEvent) => void;
}

/** Makes the events of one request: reads its state, redacts, and says when and how bad. */
export class TraceRecorder {
  readonly #exchange: TracedRequest;
  readonly #options: TraceRecorderOptions;
  readonly #bodies: BodyCapture[] = [];
  #seenRequest = "";
  #seenResponse = "";
  #calledAt: number | undefined;
  #isOver = false;
  /** When the try that is under way began, in milliseconds since the request was accepted. */
  triedAt = 0;

  constructor(exchange: TracedRequest, options: TraceRecorderOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  /** @param startedAt Where the event took time: milliseconds since the request was accepted. */
  emit(message: TraceMessage, startedAt?: number): void {
    // Whoever watches may be with the next request by now.
    if (this.#isOver) return;
    this.#isOver = message.type === "requestFinished";
    const { emit, redactor } = this.#options;
    emit({
      eventStart: startedAt === undefined ? null : toMicros(startedAt),
      eventEnd: toMicros(this.now()),
      severity: severityOf(message),
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

  /** The request as it is now, with the response to it; whether either has changed is asked from here on. */
  read(response?: ResponseMessage): RequestState {
    const { redactor } = this.#options;
    const { request, asked } = this.#exchange;
    redactor.learn(request.headers, request.target);
    redactor.learn(response?.headers ?? request.headers, asked.target);
    const timing = { calledAt: this.#calledAt };
    const state = readState(this.#exchange, redactor, timing, response);
    if (response === undefined) {
      const { request, jwt, apiKey, basicAuth } = state;
      this.#seenRequest = JSON.stringify([request, jwt, apiKey, basicAuth]);
    } else this.#seenResponse = JSON.stringify(state.response);
    return state;
  }

  /** Whether the request is another one than when it was last read. */
  hasRequestChanged(): boolean {
    const before = this.#seenRequest;
    this.read();
    return this.#seenRequest !== before;
  }

  /** As `hasRequestChanged`. */
  hasResponseChanged(response: ResponseMessage): boolean {
    const before = this.#seenResponse;
    this.read(response);
    return this.#seenResponse !== before;
  }

  callStarts(): void {
    this.triedAt = this.now();
    this.#calledAt ??= this.triedAt;
  }

  /** The body, and an event with what was read of it once it is over. */
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

  /** Nobody reads on. */
  endBodies(): void {
    for (const body of this.#bodies) body.end();
  }

  /** Milliseconds since the request was accepted. */
  now(): number {
    return this.#options.clock.monotonic() - this.#exchange.startedAt;
  }
}

function toMicros(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
