import {
  Cancellation,
  createDeadline,
  unlessCancelled,
} from "../../base/cancellation.ts";
import { type Clock, delay } from "../../base/clock.ts";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { KvStore } from "../../kv/kv_store.ts";
import { recordKey, type VaultId, type VaultSeal } from "./vault_seal.ts";

/** Dependencies of the vault. */
export interface VaultOptions {
  readonly store: Pick<KvStore, "update">;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  /** Names a lease; no two processes draw the same. */
  readonly randomId: () => string;
  /** Records are kept so long after their last change. */
  readonly maxAgeMs: number;
  /** A process that does not end its renewal within this time, as another one sees it, has crashed; default 15 s. */
  readonly leaseMs?: number;
}

/** Checks and renews a value. */
export interface Renewal {
  /** Reports whether a value can be used as it is. */
  isValid(value: JsonObject): boolean;
  /**
   * Returns the next value. One process at a time is here.
   * @param value The value that is not valid any more; `undefined` without one.
   * @param cancellation Cancelled when it takes too long: another process may renew the value then, so that nothing may be sent.
   * @throws {EndedError} When there is no next value: the record is removed.
   */
  renew(
    value: JsonObject | undefined,
    cancellation: Cancellation,
  ): Promise<JsonObject>;
}

/** The value cannot be renewed, by anybody. */
export class EndedError extends Error {
  override readonly name = "EndedError";
}

/** The vault cannot tell what the value is, or did not get to renew it. */
export class VaultError extends Error {
  override readonly name = "VaultError";
}

/** A record does not open: no key of the vault fits, or the record is damaged. */
export class UnopenedError extends VaultError {
  constructor() {
    super(
      "Cannot open a token: no key of the vault fits, or the record is damaged",
    );
  }
}

const LEASE_MS = 15_000;
/** A renewal that takes longer than this part of a lease has failed, before anybody takes over. */
const RENEWAL_SHARE = 2 / 3;
/** Leases that a caller waits for, a crash and a renewal; then it gets an error. */
const MAX_LEASES = 2;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** Attempts to write a new value while the store fails. */
const MAX_WRITES = 10;

/** A record in the store. */
interface VaultRecord {
  readonly sealed?: string;
  /** Id of the renewal that is under way. */
  readonly lease?: string;
}

/** Next step of a process that has read a record. */
type Step =
  | { readonly kind: "unread" | "unknownKey" }
  | { readonly kind: "valid"; readonly value: JsonObject }
  | { readonly kind: "wait"; readonly lease: string }
  | { readonly kind: "renew"; readonly value: JsonObject | undefined };

/** A lease of somebody else, and the monotonic time when it was seen first. */
interface SeenLease {
  readonly lease: string;
  readonly since: number;
}

/**
 * Values of users that processes share, sealed, in Deno KV or Redis. A value is renewed by one process at a time: it writes a lease
 * into the record by compare-and-swap, and the others wait for what it writes. Nobody compares clocks: a lease ends when another
 * process has seen it unchanged for long enough, so steps of a clock cannot make two processes renew the same value.
 */
export class Vault {
  readonly #options: VaultOptions;
  readonly #leaseMs: number;

  constructor(options: VaultOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
  }

  /**
   * Returns a valid value, which it renews if need be.
   * @throws {EndedError} When it cannot be renewed.
   * @throws {VaultError} When the record is sealed with an unknown key, or others have not renewed it in time.
   * @throws The error of the store, or of the renewal, after which the value is as before.
   */
  async obtain(id: VaultId, renewal: Renewal): Promise<JsonObject> {
    const { clock, randomId } = this.#options;
    const giveUpAt = clock.monotonic() + MAX_LEASES * this.#leaseMs;
    const lease = randomId();
    let seen: SeenLease | undefined;
    for (let attempts = 0; clock.monotonic() < giveUpAt; attempts++) {
      const step = await this.#begin(id, renewal, lease, seen);
      if (step.kind === "valid") return step.value;
      if (step.kind === "unknownKey") throw new UnopenedError();
      if (step.kind === "renew") {
        const value = await this.#renew(id, renewal, lease, step.value);
        if (value !== undefined) return value;
      }
      if (step.kind !== "wait") continue;
      if (seen?.lease !== step.lease) {
        seen = { lease: step.lease, since: clock.monotonic() };
      }
      await this.#pause(attempts);
    }
    throw new VaultError(
      "Cannot renew a token: another process has not done it in time",
    );
  }

  /** Returns the value as it is; `undefined` without one. @throws {VaultError} When it is sealed with an unknown key. */
  async read(id: VaultId): Promise<JsonObject | undefined> {
    let record: VaultRecord = {};
    await this.#options.store.update(recordKey(id), (stored) => {
      record = readRecord(stored);
      return undefined;
    });
    if (record.sealed === undefined) return undefined;
    const opened = this.#options.seal.open(id, record.sealed);
    if (opened === undefined) throw new UnopenedError();
    return opened.value;
  }

  /**
   * Writes a value, in place of what is there; a renewal under way has no effect.
   * @param maxAgeMs How long it is kept; default as all records.
   */
  async write(
    id: VaultId,
    value: JsonObject,
    maxAgeMs = this.#options.maxAgeMs,
  ): Promise<void> {
    const sealed = this.#options.seal.seal(id, value);
    await this.#options.store.update(
      recordKey(id),
      () => ({ value: { sealed }, expireInMs: maxAgeMs }),
    );
  }

  /** Removes a value; a renewal under way has no effect. Returns what was there, without members if no key opens it. */
  async remove(id: VaultId): Promise<JsonObject | undefined> {
    let removed: JsonObject | undefined;
    await this.#options.store.update(recordKey(id), (stored) => {
      const { sealed } = readRecord(stored);
      removed = sealed === undefined
        ? undefined
        : this.#options.seal.open(id, sealed)?.value ?? {};
      return this.#entry({});
    });
    return removed;
  }

  /** Looks at the record, and takes the lease if the value has to be renewed and nobody does it. */
  async #begin(
    id: VaultId,
    { isValid }: Renewal,
    own: string,
    seen: SeenLease | undefined,
  ): Promise<Step> {
    const { store, clock, seal } = this.#options;
    let step: Step = { kind: "unread" };
    await store.update(recordKey(id), (stored) => {
      const record = readRecord(stored);
      const { lease, sealed } = record;
      const opened = sealed === undefined ? undefined : seal.open(id, sealed);
      // Others may have its key.
      if (sealed !== undefined && opened === undefined) {
        step = { kind: "unknownKey" };
        return undefined;
      }
      const { value, isOutdated = false } = opened ?? {};
      if (value !== undefined && isValid(value)) {
        step = { kind: "valid", value };
        return isOutdated && lease === undefined
          ? this.#entry({ sealed: seal.seal(id, value) })
          : undefined;
      }
      const isOver = lease === own || lease === seen?.lease &&
          clock.monotonic() - (seen?.since ?? 0) >= this.#leaseMs;
      if (lease !== undefined && !isOver) {
        step = { kind: "wait", lease };
        return undefined;
      }
      step = { kind: "renew", value };
      return this.#entry({ ...record, lease: own });
    });
    return step;
  }

  /** Renews the value under the lease; `undefined` when somebody else has changed the record meanwhile. */
  async #renew(
    id: VaultId,
    renewal: Renewal,
    lease: string,
    value: JsonObject | undefined,
  ): Promise<JsonObject | undefined> {
    const { seal, clock } = this.#options;
    const { cancellation, lift } = createDeadline(
      new Cancellation(),
      clock,
      RENEWAL_SHARE * this.#leaseMs,
      () => new VaultError("Cannot renew a token in time"),
    );
    let next: JsonObject;
    try {
      next = await unlessCancelled(
        renewal.renew(value, cancellation),
        cancellation,
      );
    } catch (error) {
      const isEnded = error instanceof EndedError;
      await this.#end(
        id,
        lease,
        ({ sealed }) => sealed === undefined || isEnded ? {} : { sealed },
      ).catch(() => {
        // The lease ends by itself.
      });
      throw error;
    } finally {
      lift();
    }
    const sealed = seal.seal(id, next);
    return await this.#keep(id, lease, sealed) ? next : undefined;
  }

  /** Writes what may exist only here: servers that rotate refresh tokens do not accept the old one again. */
  async #keep(id: VaultId, lease: string, sealed: string): Promise<boolean> {
    for (let attempts = 1;; attempts++) {
      try {
        return await this.#end(id, lease, () => ({ sealed }));
      } catch (error) {
        if (attempts === MAX_WRITES) throw error;
        await this.#pause(attempts);
      }
    }
  }

  /** Replaces the record and ends the lease, if it is still this one. */
  async #end(
    id: VaultId,
    lease: string,
    change: (record: VaultRecord) => VaultRecord,
  ): Promise<boolean> {
    let isOwn = false;
    await this.#options.store.update(recordKey(id), (stored) => {
      const record = readRecord(stored);
      isOwn = record.lease === lease;
      return isOwn ? this.#entry(change(record)) : undefined;
    });
    return isOwn;
  }

  #pause(attempts: number): Promise<void> {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts);
    return delay(this.#options.clock, pauseMs);
  }

  #entry(record: VaultRecord) {
    return { value: { ...record }, expireInMs: this.#options.maxAgeMs };
  }
}

function readRecord(stored: unknown): VaultRecord {
  if (!isJsonObject(stored)) return {};
  const sealed = stringMember(stored, "sealed");
  const lease = stringMember(stored, "lease");
  return {
    ...(sealed !== undefined && { sealed }),
    ...(lease !== undefined && { lease }),
  };
}
