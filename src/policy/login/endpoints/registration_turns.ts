import type { Clock } from "../../../base/clock.ts";
import type { Cancellation } from "../../../base/cancellation.ts";
import type { FetchedDocument } from "../../../identity/documents/document_client.ts";

/** Limit of concurrent registrations, and of those per period: they need no token, so clients could flood the provider. */
const MAX_REGISTRATIONS = 8;
const PERIOD_MS = 1000;

/** Limits client registrations at identity providers. */
export interface RegistrationTurns {
  /** Begins a registration at a provider, named by its address; returns false while the limit is reached. */
  begin(provider: string): boolean | Promise<boolean>;
  /** Ends a registration that has begun. */
  end(provider: string): void;
}

/** Registrations at a provider. */
interface Turns {
  underWay: number;
  /** Start times of the latest registrations. */
  readonly begunAt: number[];
}

/** Limits the registrations of this process. */
export class LocalRegistrationTurns implements RegistrationTurns {
  readonly #clock: Clock;
  readonly #byProvider = new Map<string, Turns>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(provider: string): boolean {
    const now = this.#clock.monotonic();
    const turns = this.#byProvider.get(provider) ??
      { underWay: 0, begunAt: [] };
    if (turns.underWay >= MAX_REGISTRATIONS || isFull(turns, now)) return false;
    this.#forgetIdle(now);
    this.#byProvider.set(provider, turns);
    turns.underWay++;
    turns.begunAt.push(now);
    if (turns.begunAt.length > MAX_REGISTRATIONS) turns.begunAt.shift();
    return true;
  }

  end(provider: string): void {
    const turns = this.#byProvider.get(provider);
    if (turns !== undefined) turns.underWay--;
  }

  /** Providers that no configuration has any more must not stay. */
  #forgetIdle(now: number): void {
    for (const [provider, { underWay, begunAt }] of this.#byProvider) {
      const isRecent = now - (begunAt.at(-1) ?? 0) < PERIOD_MS;
      if (underWay === 0 && !isRecent) this.#byProvider.delete(provider);
    }
  }
}

function isFull({ begunAt }: Turns, now: number): boolean {
  const [earliest = 0] = begunAt;
  return begunAt.length >= MAX_REGISTRATIONS && now - earliest < PERIOD_MS;
}

/** Dependencies of `ProviderRegistration`. */
export interface ProviderRegistrationOptions {
  /** Sends a client's metadata as JSON to the provider. */
  readonly send: (
    body: string,
    cancellation: Cancellation,
  ) => Promise<FetchedDocument>;
  readonly turns: RegistrationTurns;
  /** Name of the provider among the turns. */
  readonly provider: string;
}

/** Registers clients at the provider, within limits. */
export class ProviderRegistration {
  readonly #options: ProviderRegistrationOptions;

  constructor(options: ProviderRegistrationOptions) {
    this.#options = options;
  }

  /**
   * Forwards a client's metadata as JSON. Resolves to `undefined` while the limit of concurrent or recent registrations is reached;
   * rejects when the provider cannot be reached.
   */
  async forward(
    body: string,
    cancellation: Cancellation,
  ): Promise<FetchedDocument | undefined> {
    const { send, turns, provider } = this.#options;
    if (!await turns.begin(provider)) return undefined;
    try {
      return await send(body, cancellation);
    } finally {
      turns.end(provider);
    }
  }
}
