import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { type JsonObject, stringMember } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import type { Vault } from "../vault/vault.ts";
import type { Caller, GrantCredentials } from "./backend_credentials.ts";
import type { IssuedToken } from "./oauth_library.ts";
import { ProofKey } from "./proof_key.ts";

/** Dependencies of shared tokens. */
export interface SharedTokensOptions {
  readonly vault: Pick<Vault, "obtain">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A token with less time than this is renewed. */
const MARGIN_MS = 60_000;
/** Lifetime of tokens whose server does not say it. */
const UNKNOWN_LIFETIME_MS = 5 * 60_000;
const LOG_INTERVAL_MS = 60_000;

/** Tokens of callers in the vault, where other workers, replicas and the next process find them. */
export class SharedTokens {
  readonly #options: SharedTokensOptions;
  #loggedAt = -Infinity;

  constructor(options: SharedTokensOptions) {
    this.#options = options;
  }

  /**
   * Returns the token that some process has got, or gets one for all. While the vault fails, it gets one for itself.
   * @param rejected A token that the backend does not accept.
   * @throws {GatewayError} Of `fetch`.
   */
  async obtain(
    credentials: GrantCredentials,
    caller: Caller,
    rejected: string | undefined,
    fetch: (cancellation?: Cancellation) => Promise<IssuedToken>,
  ): Promise<IssuedToken> {
    const { vault, clock, log } = this.#options;
    const { issuer, subject, rights } = caller;
    const { backend, clientId, fingerprint, parameters } = credentials;
    const id = {
      issuer,
      subject,
      server: backend,
      resource: parameters["resource"] ?? parameters["audience"] ?? "",
      client: JSON.stringify([clientId, fingerprint, rights]),
    };
    try {
      const value = await vault.obtain(id, {
        isValid: ({ token, renewAt }) =>
          token !== rejected && clock.now() < Number(renewAt),
        renew: async (_, cancellation) =>
          recordOf(await fetch(cancellation), clock.now()),
      });
      return issuedOf(value, clock.now());
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      if (clock.monotonic() - this.#loggedAt >= LOG_INTERVAL_MS) {
        this.#loggedAt = clock.monotonic();
        log.warn("Cannot use the vault; tokens are not shared", { error });
      }
      return await fetch();
    }
  }
}

function recordOf(
  { token, lifetimeMs = UNKNOWN_LIFETIME_MS, ...issued }: IssuedToken,
  now: number,
): JsonObject {
  const { issuedTokenType, proofKey } = issued;
  return {
    token,
    endsAt: now + lifetimeMs,
    renewAt: now + lifetimeMs - Math.min(MARGIN_MS, lifetimeMs / 5),
    ...(issuedTokenType !== undefined && { issuedTokenType }),
    ...(proofKey !== undefined && { proofKey: proofKey.write() }),
  };
}

function issuedOf(value: JsonObject, now: number): IssuedToken {
  const { endsAt, proofKey } = value;
  return {
    token: stringMember(value, "token") ?? "",
    lifetimeMs: Math.max(0, Number(endsAt) - now),
    issuedTokenType: stringMember(value, "issuedTokenType"),
    proofKey: proofKey === undefined ? undefined : ProofKey.read(proofKey),
  };
}
