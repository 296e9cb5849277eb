import { createHash } from "node:crypto";
import type { BudgetDefinition } from "../budget/budget.ts";
import type { DescriptorUse } from "../limiter/global_limiter.ts";
import { KvBucket, type KvBucketOptions } from "./kv_bucket.ts";

/** Dependencies shared by all buckets, and how many buckets are kept. */
export interface KvBucketTableOptions
  extends Pick<KvBucketOptions, "store" | "firstReads" | "clock" | "maxLease"> {
  readonly domain: string;
  readonly maxBudgets: number;
}

/** A bucket, and the number of its last use among those of all buckets. */
interface KeptBucket {
  readonly bucket: KvBucket;
  lastUse: number;
}

/** Buckets in memory. The least recently used ones are evicted for a new one; their records stay in the store. */
export class KvBucketTable {
  readonly #options: KvBucketTableOptions;
  /** By definition and entries. Requests do not change their order: a map whose entries move all the time becomes slow. */
  readonly #buckets = new Map<string, KeptBucket>();
  readonly #definitions = new WeakMap<BudgetDefinition, string>();
  #uses = 0;

  constructor(options: KvBucketTableOptions) {
    this.#options = options;
  }

  /** Returns the most recently used buckets, the latest one last. */
  latest(count: number): readonly KvBucket[] {
    return this.#byLastUse().slice(-count).map(([, { bucket }]) => bucket);
  }

  /** Returns a bucket for each budget; descriptors with equal budget and entries share one. */
  findAll(uses: readonly DescriptorUse[]): readonly KvBucket[] {
    const buckets: KvBucket[] = [];
    for (const use of uses) {
      const bucket = this.#find(use);
      if (!buckets.includes(bucket)) buckets.push(bucket);
    }
    return buckets;
  }

  /** Returns the first use that counts against the bucket. */
  firstUse(
    bucket: KvBucket,
    uses: readonly DescriptorUse[],
  ): DescriptorUse | undefined {
    return uses.find((use) => this.#find(use) === bucket);
  }

  #find(use: DescriptorUse): KvBucket {
    const { budget, entries } = use;
    const id = this.#identify(budget) + ownerOf(entries);
    const known = this.#buckets.get(id);
    if (known !== undefined) {
      known.lastUse = ++this.#uses;
      return known.bucket;
    }
    const bucket = this.#create(use);
    this.#makeRoom();
    this.#buckets.set(id, { bucket, lastUse: ++this.#uses });
    return bucket;
  }

  #create({ budget, entries, name, owner }: DescriptorUse): KvBucket {
    const { domain, store, firstReads, clock, maxLease } = this.#options;
    // Keys must be short, and the store need not know user names.
    const hash = createHash("sha256").update(JSON.stringify(entries));
    const values = hash.digest("base64url");
    const key = ["limit", 2, domain, nameOf(budget), values];
    return new KvBucket({
      budget,
      entries,
      name,
      owner,
      key,
      store,
      firstReads,
      clock,
      maxLease,
    });
  }

  /** Buckets see one budget each, with its numbers; those that differ in numbers only share a record. */
  #identify(budget: BudgetDefinition): string {
    const known = this.#definitions.get(budget);
    if (known !== undefined) return known;
    const { base, burst } = budget;
    const id = `${base}+${burst} ${nameOf(budget)}`;
    this.#definitions.set(budget, id);
    return id;
  }

  #makeRoom(): void {
    const { maxBudgets } = this.#options;
    if (this.#buckets.size < maxBudgets) return;
    // Many at once, because the table has to be sorted.
    const count = Math.max(1, Math.floor(maxBudgets / 8));
    for (const [id] of this.#byLastUse().slice(0, count)) {
      this.#buckets.delete(id);
    }
  }

  /** Lists the buckets, least recently used first. */
  #byLastUse(): (readonly [id: string, kept: KeptBucket])[] {
    return [...this.#buckets].sort(([, one], [, other]) =>
      one.lastUse - other.lastUse
    );
  }
}

/** Returns a string that identifies the entries. Runs for every request; JSON would take three times as long. */
function ownerOf(entries: DescriptorUse["entries"]): string {
  let owner = "";
  for (const [key, value] of entries) {
    owner += `${key.length}:${key}${value.length}:${value}`;
  }
  return owner;
}

/** Names a budget without its numbers, so that a changed number keeps what was used. */
function nameOf(
  { unit, windowMs, calendar, overshoot, variant }: BudgetDefinition,
): string {
  const window = calendar === undefined
    ? windowMs
    : `${calendar.unit} ${calendar.timeZone}`;
  const name = `${unit}/${window} ${overshoot}`;
  return variant === undefined ? name : `${name} ${variant}`;
}
