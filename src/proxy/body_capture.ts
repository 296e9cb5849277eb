import type { Body } from "../http/body.ts";
import { latin1, type TraceRedactor } from "../telemetry/trace_redactor.ts";
import { MeteredBody } from "./metered_body.ts";

/** What a trace shows of a body. */
const MAX_BYTES = 64 * 1024;

/** Read on top, so that a secret is known as one although it stands at the cut: as long as the longest token. */
const MARGIN_BYTES = 16 * 1024;

/** The beginning of a body, once it is over. */
export interface CapturedBody {
  /** Standard base64. */
  readonly body: string;
  /** There was more. */
  readonly truncated?: true;
}

/** Reads along with whoever reads a body, without delaying it. */
export class BodyCapture {
  readonly #redactor: TraceRedactor;
  readonly #length: number | undefined;
  readonly #report: (captured: CapturedBody) => void;
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  #seen = 0;
  #isOver = false;
  readonly body: Body;

  /** @param report Hears once of a body that is not empty. */
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
      filter: undefined,
      end: () => this.end(),
    });
  }

  /** Reports what there is: the rest will not be read. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#seen > 0) this.#report(this.#toCaptured());
  }

  #push(bytes: Uint8Array): void {
    this.#seen += bytes.length;
    const room = MAX_BYTES + MARGIN_BYTES - this.#kept;
    if (room > 0) {
      const kept = bytes.slice(0, room);
      this.#chunks.push(kept);
      this.#kept += kept.length;
    }
    // Who knows the length does not ask for an end.
    if (this.#seen === this.#length) this.end();
  }

  #toCaptured(): CapturedBody {
    const text = this.#chunks.map(latin1).join("");
    this.#chunks.length = 0;
    const redacted = this.#redactor.body(text);
    // The end of what was kept may be the beginning of a secret.
    const end = this.#seen > this.#kept
      ? Math.max(0, redacted.length - MARGIN_BYTES)
      : redacted.length;
    const shown = redacted.slice(0, Math.min(end, MAX_BYTES));
    const body = Uint8Array.from(shown, (byte) => byte.charCodeAt(0))
      .toBase64();
    return this.#seen > MAX_BYTES ? { body, truncated: true } : { body };
  }
}
