import {
  type Cancellation,
  unlessCancelled,
} from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { type JsonObject, stringMember } from "../../../base/json.ts";
import { type KvRecords, updating } from "../../../kv/kv_records.ts";
import { Vault } from "../../vault/vault.ts";
import { type VaultKeys, VaultSeal } from "../../vault/vault_seal.ts";
import { invalidGrant, OAuthError } from "../protocol/oauth_error.ts";
import type { ProviderClient } from "../provider/provider_client.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import { GRANT_MS, idOf, type RefreshGrant } from "./authorization_code.ts";
import { type GrantStore, REPEAT_MS, storeUnavailable } from "./grant_store.ts";

/** Dependencies of renewals. */
export interface GrantRenewalsOptions {
  /** Shared with other workers and replicas. */
  readonly records: KvRecords;
  /** Keys that seal tokens in the records. */
  readonly keys: VaultKeys;
  readonly provider: Pick<ProviderClient, "refresh">;
  readonly grants: GrantStore;
  readonly clock: Clock;
}

/** Another process takes over so long after one that renews has crashed. Two thirds of it are longer than a request to the provider may take. */
const LEASE_MS = 8000;
/** Records expire in the store; this is for stores that are late with it, and clocks that differ. */
const LONGEST_AGE_MS = 2 * REPEAT_MS;

/**
 * Gets tokens of the provider for refresh tokens. Connections of one client renew at the same time, and many providers accept a
 * token only once, so one of all workers and replicas requests tokens, and the others get the same, also for a minute afterwards.
 */
export class GrantRenewals {
  readonly #options: GrantRenewalsOptions;
  readonly #vault: Vault;
  /** Those under way in this worker, by grant, number of the refresh token, and scope. */
  readonly #pending = new Map<string, Promise<ProviderTokens>>();

  constructor(options: GrantRenewalsOptions) {
    const { records, keys, clock } = options;
    this.#options = options;
    this.#vault = new Vault({
      store: updating(records),
      seal: new VaultSeal(() => keys),
      clock,
      randomId: () => crypto.randomUUID(),
      maxAgeMs: REPEAT_MS,
      leaseMs: LEASE_MS,
    });
  }

  /** Returns tokens. @throws {OAuthError} */
  async renew(
    grant: RefreshGrant,
    scope: string | undefined,
    cancellation: Cancellation,
  ): Promise<ProviderTokens> {
    const key = JSON.stringify([grant.grant, grant.number, scope]);
    const renewal = this.#pending.get(key) ?? this.#begin(key, grant, scope);
    return await unlessCancelled(renewal, cancellation);
  }

  /** Others wait for it too, so it goes on when the first of them leaves. */
  #begin(
    key: string,
    grant: RefreshGrant,
    scope: string | undefined,
  ): Promise<ProviderTokens> {
    const renewal = this.#obtain(grant, scope)
      .finally(() => this.#pending.delete(key));
    renewal.catch(() => {
      // Those that still wait get the error.
    });
    this.#pending.set(key, renewal);
    return renewal;
  }

  async #obtain(
    refresh: RefreshGrant,
    scope: string | undefined,
  ): Promise<ProviderTokens> {
    const { provider, clock } = this.#options;
    const { grant, issuer, client, number } = refresh;
    const id = {
      issuer,
      subject: grant,
      server: "refresh",
      resource: scope ?? "",
      client,
    };
    try {
      const value = await this.#vault.obtain(id, {
        isValid: (value) =>
          value["number"] === number &&
          clock.now() - Number(value["renewedAt"]) < LONGEST_AGE_MS,
        renew: async (_, cancellation) => {
          await this.#useToken(refresh);
          const tokens = await provider
            .refresh(refresh.providerToken, scope, cancellation)
            .catch((error) => this.#releaseToken(refresh, error));
          return { ...tokens, number, renewedAt: clock.now() };
        },
      });
      return tokensOf(value, clock.now());
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      storeUnavailable(error);
    }
  }

  /** Public clients get a new refresh token each time. One that is used again was stolen, from whom is unknown (RFC 9700 section 4.14.2). */
  async #useToken(refresh: RefreshGrant): Promise<void> {
    const { grants, clock } = this.#options;
    const { grant, number } = refresh;
    const untilMs = clock.now() + GRANT_MS;
    if (await grants.useToken(grant, number, untilMs) !== "reused") return;
    await grants.end(idOf(refresh), untilMs);
    throw invalidGrant(
      "the refresh token was used before; its grant has ended",
    );
  }

  /** Lets the client retry with a refresh token that the provider has not accepted. */
  async #releaseToken(
    { grant, number }: RefreshGrant,
    error: unknown,
  ): Promise<never> {
    const { grants, clock } = this.#options;
    const isFinal = error instanceof OAuthError &&
      error.code === "invalid_grant";
    if (!isFinal) {
      await grants.releaseToken(grant, number, clock.now() + GRANT_MS);
    }
    throw error;
  }
}

/** Reads tokens that some process has got, which expire so much earlier. */
function tokensOf(value: JsonObject, now: number): ProviderTokens {
  const { expiresIn, renewedAt } = value;
  const age = Math.floor(Math.max(0, now - Number(renewedAt)) / 1000);
  return {
    accessToken: stringMember(value, "accessToken") ?? "",
    refreshToken: stringMember(value, "refreshToken"),
    scope: stringMember(value, "scope"),
    expiresIn: typeof expiresIn === "number"
      ? Math.max(0, expiresIn - age)
      : undefined,
  };
}
