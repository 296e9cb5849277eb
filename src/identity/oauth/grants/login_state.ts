import type { Clock } from "../../../base/clock.ts";
import { readMembers } from "../../../base/json/decode_members.ts";
import type { Log } from "../../../base/log/log.ts";
import type { KvHandle, Replacement } from "../../../kv/kv_handle.ts";
import { type KvRecords, MemoryRecords } from "../../../kv/kv_records.ts";
import { KvStore } from "../../../kv/kv_store.ts";
import {
  type GrantStore,
  MemoryGrantStore,
  rateUse,
  type TokenUse,
  withoutUse,
} from "./grant_store.ts";
import {
  type GrantId,
  type GrantRecord,
  readGrantRecord,
} from "./grant_record.ts";
import { MemoryProofStore, type ProofStore } from "./proof_store.ts";
import { randomText } from "../protocol/seal.ts";

/** State of logins that outlives a configuration: the secret that seals them, and the used codes. */
export interface LoginState {
  readonly grants: GrantStore;
  readonly proofs: ProofStore;
  /** Marks of browser sessions that have ended, and renewed tokens, sealed. */
  readonly records: KvRecords;
  /** Returns the secret for configurations without one. Rejects while its store is not available. */
  secret(): Promise<string>;
  /** Called by configurations without a secret: warns, once, if that of this process ends with it. */
  warnOfLoss(): void;
  close(): Promise<void>;
}

/** Keeps the state in this process: logins end with it. */
export function createMemoryLoginState(
  clock: Clock,
  log: Pick<Log, "warn">,
): LoginState {
  const secret = randomText();
  let hasWarned = false;
  return {
    grants: new MemoryGrantStore(clock),
    proofs: new MemoryProofStore(clock),
    records: new MemoryRecords(clock),
    secret: () => Promise.resolve(secret),
    warnOfLoss() {
      if (hasWarned) return;
      hasWarned = true;
      log.warn(
        'Clients and logins end when the gateway restarts, and other replicas do not know them: set "stateSecret" of issuer mode Proxied, "cookieSecret" of oidc, or "config.kv"',
      );
    },
    close: () => Promise.resolve(),
  };
}

const secretKey = ["oauth", "secret"];
const grantPrefix: Deno.KvKey = ["oauth", "grant"];
const TIMEOUT_MS = 2000;

/** Keeps the state in Deno KV or Redis: logins survive restarts, and all processes with the same store share them. */
export class KvLoginState implements LoginState {
  readonly grants: GrantStore;
  readonly proofs: ProofStore = {
    spend: (key, id, untilMs) =>
      this.#store.transact((kv) =>
        this.#mark(kv, ["oauth", "proof", key, id], untilMs)
      ),
  };
  readonly records: KvRecords = {
    read: (key) => this.#store.transact((kv) => kv.read(key)),
    replace: (...change) => this.#store.transact((kv) => kv.replace(...change)),
  };
  readonly #clock: Clock;
  readonly #store: KvStore;
  #secret: string | undefined;

  /** @param store File, or URL of a remote store; opened by the first login that needs it. */
  constructor(store: string, clock: Clock) {
    this.#clock = clock;
    this.#store = new KvStore({
      store,
      clock,
      deadlineMs: TIMEOUT_MS,
      firstReopenMs: 0,
    });
    this.grants = {
      spend: (code, untilMs) =>
        this.#store.transact((kv) =>
          this.#mark(kv, ["oauth", "code", code], untilMs)
        ),
      release: (code) =>
        this.#store.transact((kv) => kv.delete(["oauth", "code", code])),
      add: (grant, untilMs) =>
        this.#store.transact((kv) => this.#add(kv, grant, untilMs)),
      touch: (...use) => this.#store.transact((kv) => this.#touch(kv, ...use)),
      list: () =>
        this.#store.transact(async (kv) => {
          const values = await kv.list(grantPrefix, 0);
          return values.flatMap((value) => readGrantRecord(value) ?? []);
        }),
      end: (grant, untilMs) =>
        this.#store.transact(async (kv) => {
          // A mark that is there already is that of the same grant.
          await this.#mark(kv, ["oauth", "ended", grant.id], untilMs);
          await kv.commit([{ key: keyOf(grant), listedIn: grantPrefix }]);
        }),
      isEnded: (grant) =>
        this.#store.transact(async (kv) => {
          const { value } = await kv.read(["oauth", "ended", grant]);
          return value !== null;
        }),
      useToken: (grant, number, untilMs) =>
        this.#store.transact((kv) =>
          this.#useToken(kv, grant, { number, untilMs })
        ),
      releaseToken: (grant, number, untilMs) =>
        this.#store.transact(async (kv) => {
          const { key, last, version } = await readToken(kv, grant);
          if (last?.number !== number) return;
          const value = withoutUse(number);
          await kv.replace(key, version, this.#expiring(value, untilMs));
        }),
    };
  }

  async secret(): Promise<string> {
    return this.#secret ??= await this.#store.transact(async (kv) => {
      await kv.replace(secretKey, null, { value: randomText() });
      const { value } = await kv.read(secretKey);
      if (typeof value === "string" && value.length >= 32) return value;
      throw new TypeError("Cannot use the login secret of the store");
    });
  }

  warnOfLoss(): void {}

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Adds a grant, unless it ended while it was used. */
  async #add(kv: KvHandle, grant: GrantRecord, untilMs: number): Promise<void> {
    await kv.commit([{
      key: keyOf(grant),
      next: this.#listed(grant, untilMs),
    }]);
    const { value } = await kv.read(["oauth", "ended", grant.id]);
    if (value === null) return;
    await kv.commit([{ key: keyOf(grant), listedIn: grantPrefix }]);
  }

  async #touch(
    kv: KvHandle,
    id: GrantId,
    usedAt: number,
    untilMs: number,
  ): Promise<void> {
    const { value, version } = await kv.read(keyOf(id));
    const grant = readGrantRecord(value);
    if (grant === undefined) return;
    // If another process has changed it, it has ended, or was used a moment ago.
    await kv.replace(
      keyOf(id),
      version,
      this.#listed({ ...grant, usedAt }, untilMs),
    );
  }

  #listed(grant: GrantRecord, untilMs: number): Replacement {
    return {
      ...this.#expiring({ ...grant }, untilMs),
      listed: { prefix: grantPrefix, time: grant.startedAt },
    };
  }

  async #useToken(
    kv: KvHandle,
    grant: string,
    { number, untilMs }: { readonly number: number; readonly untilMs: number },
  ): Promise<TokenUse | "conflict"> {
    const { key, last, version } = await readToken(kv, grant);
    const use = { number, usedAt: this.#clock.now() };
    const rating = rateUse(last, use);
    if (rating !== "first") return rating;
    const next = this.#expiring(use, untilMs);
    return await kv.replace(key, version, next) ? rating : "conflict";
  }

  #expiring(value: unknown, untilMs: number): Replacement {
    return { value, expireInMs: Math.max(1, untilMs - this.#clock.now()) };
  }

  /** Writes a mark that expires; resolves to `false` when it was there already. */
  #mark(kv: KvHandle, key: Deno.KvKey, untilMs: number): Promise<boolean> {
    return kv.replace(key, null, this.#expiring(true, untilMs));
  }
}

function keyOf({ id, startedAt }: GrantId): Deno.KvKey {
  return [...grantPrefix, startedAt, id];
}

/** Reads the refresh token of a grant that was used last. */
async function readToken(kv: KvHandle, grant: string) {
  const key = ["oauth", "token", grant];
  const { value, version } = await kv.read(key);
  const last = readMembers(value, { number: "number", usedAt: "number" });
  return { key, version, last };
}
