import { type Clock, pause } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readLines } from "../client/api_responses.ts";
import {
  isSameVersion,
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import {
  BEAT_MS,
  DELIVERY_PATH,
  type DeliveryMessage,
  parseMessage,
} from "./delivery_messages.ts";
import type { ApiFeedOptions } from "./api_feed.ts";
import {
  type ClusterFeed,
  type CollectionCopy,
  type FeedEvents,
  keyOf,
} from "./cluster_feed.ts";
import { collectionPath } from "./collections.ts";

/** Time without a message after which another connection is opened. */
const SILENCE_MS = 3 * BEAT_MS;
const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;

interface Copy extends CollectionCopy {
  readonly items: Map<string, KubernetesObject>;
}

type Change = Exclude<DeliveryMessage, { readonly end: true }>;

/** Receives the objects of one gateway from a controller. What was received stays while the controller is away. */
export class DeliveredFeed implements ClusterFeed {
  readonly copies: readonly Copy[];
  readonly #options: ApiFeedOptions;
  readonly #events: FeedEvents;
  #hasSynced = false;
  #failures = 0;

  constructor(options: ApiFeedOptions, events: FeedEvents) {
    this.#options = options;
    this.#events = events;
    const hasSynced = () => this.#hasSynced;
    this.copies = options.collections.map((collection) => ({
      collection,
      key: keyOf(collection, collectionPath(collection)),
      items: new Map(),
      get hasSynced() {
        return hasSynced();
      },
    }));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#receive(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#failures++;
        this.#report(describeError(error));
      }
      const longest = Math.min(
        MAX_BACKOFF_MS,
        MIN_BACKOFF_MS * 2 ** Math.min(this.#failures, 10),
      );
      await pause(clock, longest * (0.5 + random() / 2), signal);
    }
  }

  #report(problem: string | undefined): void {
    this.#events.onError(
      "the configuration",
      problem === undefined ? undefined : new Error(problem),
    );
  }

  /** Applies one stream until the controller ends it, as it does after some minutes. */
  async #receive(signal: AbortSignal): Promise<void> {
    using silence = new Silence(this.#options.clock, signal);
    const response = await this.#options.api.open({
      path: DELIVERY_PATH,
      signal: silence.signal,
    });
    let changes: Change[] = [];
    let isFirst = true;
    for await (const line of readLines(response)) {
      silence.restart();
      const message = parseMessage(line);
      if (!("end" in message)) {
        changes.push(message);
        continue;
      }
      if (isFirst) changes = [...this.#leftOut(changes), ...changes];
      isFirst = false;
      this.#apply(changes);
      changes = [];
      this.#failures = 0;
      this.#report(message.problem);
    }
    if (isFirst) throw new TypeError("The controller sent no configuration");
  }

  /** Returns what is here and not in the whole that came. */
  *#leftOut(changes: readonly Change[]): Generator<Change> {
    const there = new Set(
      changes.map((change) =>
        `${change.key} ${"gone" in change ? "" : objectKey(change.object)}`
      ),
    );
    for (const { key, items } of this.copies) {
      for (const gone of items.keys()) {
        if (!there.has(`${key} ${gone}`)) yield { key, gone };
      }
    }
  }

  /** Applies changes at once: a route is never without its policy. */
  #apply(changes: readonly Change[]): void {
    const copies = new Map(this.copies.map((copy) => [copy.key, copy]));
    // A policy of a kind that this version does not know must not be left out.
    const unknown = changes.find(({ key }) => !copies.has(key));
    if (unknown !== undefined) {
      throw new TypeError(
        `The controller has a kind of another version: ${unknown.key}`,
      );
    }
    for (const change of changes) {
      const copy = copies.get(change.key);
      if (copy !== undefined) this.#set(copy, change);
    }
    this.#hasSynced = true;
    this.#events.onSync();
  }

  #set({ collection, items }: Copy, change: Change): void {
    const key = "gone" in change ? change.gone : objectKey(change.object);
    const before = items.get(key);
    const now = "gone" in change ? undefined : change.object;
    if (now === undefined) items.delete(key);
    else if (before !== undefined && isSameVersion(before, now)) return;
    else items.set(key, now);
    this.#events.onChange(collection, now, before);
  }
}

/** Aborts a stream on which nothing comes any more. */
class Silence implements Disposable {
  readonly signal: AbortSignal;
  readonly #clock: Clock;
  readonly #silent = new AbortController();
  readonly #parent: AbortSignal;
  readonly #onParent = () => this.#silent.abort(this.#parent.reason);
  #cancelTimer = () => {};

  constructor(clock: Clock, parent: AbortSignal) {
    this.#clock = clock;
    this.#parent = parent;
    this.signal = this.#silent.signal;
    parent.addEventListener("abort", this.#onParent, { once: true });
    if (parent.aborted) this.#onParent();
    this.restart();
  }

  restart(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.setTimer(() => {
      this.#silent.abort(new Error("The controller has been silent"));
    }, SILENCE_MS);
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
    this.#parent.removeEventListener("abort", this.#onParent);
  }
}
