import type { Log } from "../../base/log/log.ts";
import { redactUrl } from "../../base/redaction.ts";
import { KvStore, type KvStoreOptions } from "../../kv/kv_store.ts";
import type {
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import type { BudgetNotice } from "../../policy/keys/notice_board.ts";
import {
  type BudgetNoticeOptions,
  BudgetNotices,
  type NoticeCounts,
} from "./budget_notices.ts";
import {
  type KeyObjectChange,
  type KeyObjectDraft,
  KeyObjectStore,
  type KeyringHead,
} from "./key_object_store.ts";
import { KeyringTable } from "./keyring_table.ts";
import type { RecordMemory } from "./record_table.ts";

/** Dependencies of the keys in a store. */
export interface KeyringOptions
  extends KvStoreOptions, Pick<BudgetNoticeOptions, "settings"> {
  readonly log: Log;
}

/** State of the keys, for metrics and readiness. */
export interface KeyringReading {
  readonly objects: number;
  readonly bytes: number;
  /** Reason why they may be out of date; `undefined` while they are not. */
  readonly problem: string | undefined;
  /** Time since the store was read; `undefined` before that. */
  readonly ageMs: number | undefined;
}

/** Time between two looks at the number of the last change. */
const POLL_MS = 200;
/** Revoked objects are forgotten after this time. */
const REVOKED_KEPT_MS = 90 * 24 * 3600 * 1000;

/**
 * The keys, users and teams in the store of `config.kv`, as this process knows them. Follows their changes once somebody uses them.
 * While the store cannot be reached, what is known stays, and nobody can say whether a key that is not known exists.
 */
export class Keyring {
  readonly #options: KeyringOptions;
  readonly #store: KeyObjectStore;
  readonly #first = Promise.withResolvers<void>();
  readonly #notices: BudgetNotices;
  #table = new KeyringTable();
  #head: KeyringHead | undefined;
  #failure: { readonly error: unknown } | undefined;
  #readAt: number | undefined;
  #isFollowing = false;
  #isClosed = false;
  #cancelPoll: (() => void) | undefined;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: KeyringOptions) {
    this.#options = options;
    this.#notices = new BudgetNotices({
      ...options,
      claim: (notice) => this.#claim(notice),
    });
    this.#store = new KeyObjectStore(new KvStore(options));
  }

  /** Begins to follow the store. */
  follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    void this.#pollOn();
  }

  /** Returns the memory with the keys, once they were read or the store could not be reached. */
  async memory(): Promise<RecordMemory> {
    this.follow();
    await this.#first.promise;
    return this.#table.memory;
  }

  /** Returns what is known now, after a look at the store. */
  async table(): Promise<KeyringTable> {
    this.follow();
    await this.refresh();
    return this.#table;
  }

  /** Describes the state; `undefined` while nobody uses the keys. */
  read(): KeyringReading | undefined {
    if (!this.#isFollowing) return undefined;
    const { clock, store } = this.#options;
    return {
      objects: this.#table.objects,
      bytes: this.#table.bytes,
      problem: this.#failure &&
        `API keys may be out of date: cannot reach the store ${
          redactUrl(store)
        }`,
      ageMs: this.#readAt === undefined
        ? undefined
        : clock.monotonic() - this.#readAt,
    };
  }

  /**
   * Changes an object; the change is in force in this process when it returns, even if the store fails after it was written. Rejects
   * when the store fails before.
   * @param edit Gets all objects as well, unless this process does not know the last change yet.
   */
  async change(
    kind: KeyObjectKind,
    id: string,
    edit: (
      object: KeyObject | undefined,
      all: KeyringTable | undefined,
    ) => KeyObjectDraft | { readonly problem: string },
  ): Promise<KeyObjectChange> {
    this.follow();
    const result = await this.#store.change(
      kind,
      id,
      (object, last) =>
        edit(object, isSame(last, this.#head) ? this.#table : undefined),
    );
    if ("object" in result) {
      this.#table.set(result.object);
      this.#table.publish();
      await this.refresh();
    }
    return result;
  }

  /** Gives notice of a budget, once in all processes that share the store. */
  notify(notice: BudgetNotice): void {
    void this.#notices.give(notice);
  }

  /** Counts the notices. */
  get notices(): NoticeCounts {
    return this.#notices.counts;
  }

  /** Learns now what has changed; never rejects. */
  refresh(): Promise<void> {
    this.#polling = this.#polling.then(() => this.#poll());
    return this.#polling;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll?.();
    await this.#polling;
    await this.#notices.close();
    await this.#store.close();
  }

  /** While the store cannot be reached, each process gives its own notice. */
  async #claim(notice: BudgetNotice): Promise<boolean> {
    try {
      return await this.#store.claim(notice, this.#options.clock.now());
    } catch {
      return true;
    }
  }

  async #pollOn(): Promise<void> {
    await this.refresh();
    if (this.#isClosed) return;
    this.#cancelPoll = this.#options.clock.setTimer(
      () => void this.#pollOn(),
      POLL_MS,
    );
  }

  async #poll(): Promise<void> {
    if (this.#isClosed) return this.#first.resolve();
    try {
      const head = await this.#store.head();
      await this.#catchUp(head);
      this.#readAt = this.#options.clock.monotonic();
      if (this.#failure !== undefined) {
        this.#options.log.info(
          "The store of the API keys can be reached again",
        );
      }
      this.#failure = undefined;
      this.#table.setState("current");
    } catch (error) {
      if (this.#isClosed) return;
      if (this.#failure === undefined) {
        this.#options.log.error(
          "Cannot reach the store of the API keys: those that are known stay valid, others get 503",
          { store: redactUrl(this.#options.store), error },
        );
      }
      this.#failure = { error };
      this.#table.setState("stale");
    } finally {
      this.#first.resolve();
    }
  }

  async #catchUp(head: KeyringHead): Promise<void> {
    const known = this.#head;
    if (isSame(head, known)) return;
    const follows = known !== undefined && head.sequence > known.sequence &&
      // A store that could not be reached may have been restored from a copy, and changed since.
      this.#failure === undefined;
    if (follows) {
      for await (const page of this.#store.since(known.sequence)) {
        for (const object of page) this.#table.set(object);
      }
      this.#table.publish();
    } else await this.#reload(known, head);
    this.#head = head;
  }

  async #reload(
    known: KeyringHead | undefined,
    head: KeyringHead,
  ): Promise<void> {
    const next = new KeyringTable();
    const forgettable: KeyObject[] = [];
    const { clock, log } = this.#options;
    for await (const page of this.#store.since(0)) {
      for (const object of page) {
        const isForgettable = object.status === "revoked" &&
          clock.now() - object.changedAt > REVOKED_KEPT_MS;
        if (isForgettable) forgettable.push(object);
        else next.set(object);
      }
    }
    const before = this.#table;
    this.#table = next;
    next.setState("current");
    before.retire();
    for (const object of forgettable) await this.#store.forget(object);
    if (known === undefined) return;
    if (head.sequence <= known.sequence) {
      log.warn(
        "The store of the API keys has an older state than before: keys made since then are unknown",
        { known: known.sequence, found: head.sequence },
      );
    }
    await this.#revokeAgain(before);
  }

  /** A store that was restored from a copy does not bring revoked objects back. */
  async #revokeAgain(before: KeyringTable): Promise<void> {
    for (const { kind, id } of before.revoked()) {
      const restored = this.#table.find(kind, id);
      if (restored === undefined || restored.status === "revoked") continue;
      await this.#store.change(
        kind,
        id,
        (object) =>
          object === undefined
            ? { problem: "it does not exist" }
            : revoke(object, this.#options.clock.now()),
      );
      this.#options.log.warn(
        "An object that was revoked came back with the store: revoked again",
        { kind, id },
      );
    }
  }
}

function isSame(one: KeyringHead, other: KeyringHead | undefined): boolean {
  return one.sequence === other?.sequence && one.tag === other.tag;
}

/** Returns an object without its secrets, for good. */
export function revoke(
  { secrets: _, ...object }: KeyObject,
  now: number,
): KeyObjectDraft {
  return { ...object, status: "revoked", changedAt: now };
}
