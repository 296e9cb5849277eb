import type { KvHandle } from "../../kv/kv_handle.ts";
import type { KvStore } from "../../kv/kv_store.ts";
import {
  type BudgetNotice,
  noticeKey,
} from "../../policy/keys/notice_board.ts";
import {
  type KeyObject,
  type KeyObjectKind,
  readKeyObject,
} from "../../policy/keys/key_objects.ts";

/** Begins all keys; the number is the version of the objects. */
const prefix = ["keyring", 1] as const;
/** Objects, by the number of the change that wrote them: those that follow a number are what has changed since. */
const objects = [...prefix, "objects"];
const head = [...prefix, "head"];

/** Objects that are read together. */
const PAGE = 500;

/** The last change; `tag` tells it from another with the same number, after the store was restored from a copy. */
export interface KeyringHead {
  readonly sequence: number;
  readonly tag: string;
}

/** An object before it has a number. */
export type KeyObjectDraft = Omit<KeyObject, "sequence">;

/** Result of a change; `problem` says why nothing was written. */
export type KeyObjectChange =
  | { readonly object: KeyObject }
  | { readonly problem: string };

/** Keys, users and teams in the store that processes share. */
export class KeyObjectStore {
  readonly #store: KvStore;

  constructor(store: KvStore) {
    this.#store = store;
  }

  /** Returns the last change. Rejects when the store fails, as the following do. */
  head(): Promise<KeyringHead> {
    return this.#store.transact(async (kv) =>
      readHead((await kv.read(head)).value)
    );
  }

  /** Returns the objects that have changed since `sequence`, by their numbers, in pages. */
  async *since(sequence: number): AsyncGenerator<readonly KeyObject[]> {
    for (let next = sequence + 1;;) {
      const values = await this.#store.transact((kv) =>
        kv.list(objects, next, PAGE)
      );
      const page = values.map(readKeyObject).filter((each) =>
        each !== undefined
      );
      if (page.length > 0) yield page;
      const last = page.at(-1)?.sequence;
      if (values.length < PAGE || last === undefined) return;
      next = last + 1;
    }
  }

  /** Writes the result of `edit`, which gets the object as it is and the last change; repeats it when another process has changed something in between. */
  async change(
    kind: KeyObjectKind,
    id: string,
    edit: (
      object: KeyObject | undefined,
      last: KeyringHead,
    ) => KeyObjectDraft | { readonly problem: string },
  ): Promise<KeyObjectChange> {
    return await this.#store.transact<KeyObjectChange>(async (kv, isLate) => {
      const last = await kv.read(head);
      const place = await kv.read(placeOf(kind, id));
      const old = typeof place.value === "number" ? place.value : undefined;
      const before = readHead(last.value);
      const object = old === undefined ? undefined : await readEntry(kv, old);
      if (old !== undefined && object === undefined) {
        // Another change may have moved the object since its place was read.
        const { version } = await kv.read(placeOf(kind, id));
        if (version !== place.version) return "conflict";
      }
      const draft = edit(object, before);
      if ("problem" in draft) return draft;
      const sequence = before.sequence + 1;
      const changed = { ...draft, sequence };
      const tag = crypto.randomUUID();
      if (isLate()) return "conflict";
      const isWritten = await kv.commit([
        {
          key: head,
          version: last.version,
          next: { value: { sequence, tag } },
        },
        {
          key: placeOf(kind, id),
          version: place.version,
          next: { value: sequence },
        },
        ...old === undefined ? [] : [{ key: entryOf(old), listedIn: objects }],
        {
          key: entryOf(sequence),
          next: { value: changed, listed: { prefix: objects, time: sequence } },
        },
      ]);
      return isWritten ? { object: changed } : "conflict";
    });
  }

  /** Deletes an object, unless it has changed; other processes keep what they know of it. */
  async forget({ kind, id, sequence }: KeyObject): Promise<void> {
    await this.#store.transact(async (kv) => {
      const place = await kv.read(placeOf(kind, id));
      if (place.value !== sequence) return undefined;
      const isDone = await kv.commit([
        { key: placeOf(kind, id), version: place.version },
        { key: entryOf(sequence), listedIn: objects },
      ]);
      return isDone ? undefined : "conflict";
    });
  }

  /** Returns whether nobody has given a notice in the current window; afterwards somebody has. */
  async claim(notice: BudgetNotice, now: number): Promise<boolean> {
    const key = [...prefix, "notice", ...noticeKey(notice)];
    const expireInMs = 1000 * notice.resetSeconds;
    return await this.#store.transact(async (kv) => {
      const { value, version } = await kv.read(key);
      if (typeof value === "number" && value > now) return false;
      const next = { value: now + expireInMs, expireInMs };
      return await kv.replace(key, version, next) ? true : "conflict";
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function entryOf(sequence: number): Deno.KvKey {
  return [...objects, sequence];
}

function placeOf(kind: KeyObjectKind, id: string): Deno.KvKey {
  return [...prefix, "place", kind, id];
}

async function readEntry(
  kv: KvHandle,
  sequence: number,
): Promise<KeyObject | undefined> {
  return readKeyObject((await kv.read(entryOf(sequence))).value);
}

/** A store without changes has none. */
function readHead(value: unknown): KeyringHead {
  const { sequence, tag } = Object(value);
  return typeof sequence === "number" && typeof tag === "string"
    ? { sequence, tag }
    : { sequence: 0, tag: "" };
}
