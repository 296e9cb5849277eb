import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { FetchedDocument } from "../../identity/documents/document_client.ts";

/** Limit of concurrent registrations, and of those per period: they need no token, so clients could flood the provider. */
const MAX_FORWARDED = 8;
const PERIOD_MS = 1000;

type Forward = (
  body: string,
  cancellation: Cancellation,
) => Promise<FetchedDocument>;

/** Registers clients at the provider, within limits. */
export class ProviderRegistration {
  readonly #send: Forward;
  readonly #clock: Clock;
  #underWay = 0;
  /** Start times of the latest registrations. */
  readonly #begunAt: number[] = [];

  constructor(send: Forward, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** True while the limit of concurrent or recent registrations is reached. */
  get isBusy(): boolean {
    const [earliest = 0] = this.#begunAt;
    return this.#underWay >= MAX_FORWARDED ||
      (this.#begunAt.length >= MAX_FORWARDED &&
        this.#clock.monotonic() - earliest < PERIOD_MS);
  }

  /** Forwards a client's metadata as JSON. Rejects when the provider cannot be reached. */
  async forward(
    body: string,
    cancellation: Cancellation,
  ): Promise<FetchedDocument> {
    this.#underWay++;
    this.#begunAt.push(this.#clock.monotonic());
    if (this.#begunAt.length > MAX_FORWARDED) this.#begunAt.shift();
    try {
      return await this.#send(body, cancellation);
    } finally {
      this.#underWay--;
    }
  }
}
