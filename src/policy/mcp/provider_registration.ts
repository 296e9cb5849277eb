import type { Cancellation } from "../../base/cancellation.ts";
import type { FetchedDocument } from "../../identity/documents/document_client.ts";
import type { RegistrationTurns } from "./registration_turns.ts";

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
