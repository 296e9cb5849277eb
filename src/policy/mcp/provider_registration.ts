import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { FetchedDocument } from "../../identity/documents/document_client.ts";

/** Anybody can register, without a token: the provider is not to be flooded through us. So many at once, and in a second. */
const MAX_FORWARDED = 8;
const PERIOD_MS = 1000;

type Forward = (
  body: string,
  cancellation: Cancellation,
) => Promise<FetchedDocument>;

/** Registers clients at the provider, a few at a time. */
export class ProviderRegistration {
  readonly #send: Forward;
  readonly #clock: Clock;
  #underWay = 0;
  /** When the latest began. */
  readonly #begunAt: number[] = [];

  constructor(send: Forward, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Whether the limit of concurrent or recent registrations is reached. */
  get isBusy(): boolean {
    const [earliest = 0] = this.#begunAt;
    return this.#underWay >= MAX_FORWARDED ||
      (this.#begunAt.length >= MAX_FORWARDED &&
        this.#clock.monotonic() - earliest < PERIOD_MS);
  }

  /** Passes on what a client says of itself, as JSON. Rejects when the provider cannot be reached. */
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
