import { GrowingBuffer, latin1 } from "../../base/bytes.ts";
import type { Body } from "../../http/body.ts";
import type { TraceRedactor } from "../../telemetry/trace/trace_redactor.ts";
import { MeteredBody } from "../body/metered_body.ts";

/** Bytes that a trace shows of a body. */
const MAX_BYTES = 64 * 1024;

/** Captured beyond the limit, so that a secret at the cut is recognized: as long as the longest token. */
const MARGIN_BYTES = 16 * 1024;

/** The captured start of a body. */
export interface CapturedBody {
  /** Standard base64. */
  readonly body: string;
  /** The body was longer. */
  readonly truncated?: true;
}

/** Captures a body while it is read, without delaying it. */
export class BodyCapture {
  readonly #redactor: TraceRedactor;
  readonly #length: number | undefined;
  readonly #report: (captured: CapturedBody) => void;
  readonly #kept = new GrowingBuffer();
  #seen = 0;
  #isOver = false;
  readonly body: Body;

  /** @param report Called once, unless the body is empty. */
  constructor(
    body: Body,
    redactor: TraceRedactor,
    report: (captured: CapturedBody) => void,
  ) {
    this.#redactor = redactor;
    this.#length = body.length;
    this.#report = report;
    this.body = new MeteredBody(body, {
      sink: { push: (bytes) => this.#push(bytes) },
      end: () => this.end(),
    });
  }

  /** Reports what was captured: the rest will not be read. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#seen > 0) this.#report(this.#toCaptured());
  }

  #push(bytes: Uint8Array): void {
    this.#seen += bytes.length;
    const room = MAX_BYTES + MARGIN_BYTES - this.#kept.length;
    if (room > 0) this.#kept.append(bytes.subarray(0, room));
    // A reader that knows the length does not read to the end.
    if (this.#seen === this.#length) this.end();
  }

  #toCaptured(): CapturedBody {
    const isCut = this.#seen > this.#kept.length;
    const redacted = this.#redactor.body(latin1(this.#kept.take()));
    // The captured bytes may end within a secret.
    const end = isCut
      ? Math.max(0, redacted.length - MARGIN_BYTES)
      : redacted.length;
    const shown = redacted.slice(0, Math.min(end, MAX_BYTES));
    const body = Uint8Array.from(shown, (byte) => byte.charCodeAt(0))
      .toBase64();
    return this.#seen > MAX_BYTES ? { body, truncated: true } : { body };
  }
}
