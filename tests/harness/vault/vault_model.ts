/** Replicas that share a vault, run one step at a time in an order that a seed decides, with crashes, revocations and clock steps. */
import type { Cancellation } from "../../../src/base/cancellation.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { KvHandle } from "../../../src/kv/kv_handle.ts";
import { KvStore } from "../../../src/kv/kv_store.ts";
import { EndedError, Vault } from "../../../src/identity/vault/vault.ts";
import {
  type VaultId,
  type VaultKeys,
  VaultSeal,
} from "../../../src/identity/vault/vault_seal.ts";
import { FakeClock } from "../time/fake_clock.ts";
import { RotatingServer } from "./rotating_server.ts";

const USERS = 50;
const SERVERS = 10;
const REPLICAS = 4;
/** Users and servers that one schedule is about: few, so that they meet. */
const IDS = 3;
const ACTIONS = 16;
const MAX_STEPS = 12;
const TOKEN_MS = 600_000;
const MAX_AGE_MS = 90 * 86_400_000;
/** Microtasks between two steps of a process. */
const TICKS = 12;

/** Counts of schedules. */
export interface ModelCounts {
  /** Tokens for somebody or something else than the caller asked for, or of a grant that had been revoked before. */
  foreign: number;
  /** Grants that are gone, though nobody revoked them and their last response was written. */
  lost: number;
  /** Grants whose last response was lost in a crash or came too late: users log in again. */
  unlucky: number;
  tokens: number;
  renewals: number;
  crashes: number;
  revocations: number;
}

/** Returns counts of nothing. */
export function noCounts(): ModelCounts {
  return {
    foreign: 0,
    lost: 0,
    unlucky: 0,
    tokens: 0,
    renewals: 0,
    crashes: 0,
    revocations: 0,
  };
}

/** Runs the schedule of a seed, and adds what happened to `counts`. */
export async function runSchedule(
  seed: number,
  counts: ModelCounts,
): Promise<void> {
  await new Schedule(seed, counts).run();
}

/** Numbers from a seed (mulberry32), in [0, 1). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Replica {
  vault: Vault;
  /** Number of its crashes: what an earlier process has begun never goes on. */
  epoch: number;
  /** Difference of its clock to the time. */
  skewMs: number;
  keys: VaultKeys;
}

class Schedule {
  readonly #random: () => number;
  readonly #counts: ModelCounts;
  readonly #time = new FakeClock();
  readonly #server = new RotatingServer();
  readonly #replicas: readonly Replica[];
  readonly #records = new Map<string, { version: string; value: unknown }>();
  /** Grant and refresh token of each sealed text. */
  readonly #sealed = new Map<string, JsonObject>();
  #pending: {
    readonly replica: Replica;
    readonly epoch: number;
    run(): void;
  }[] = [];
  /** Revocations under way. */
  readonly #revoking = new Set<
    { readonly owner: string; readonly replica: Replica }
  >();
  #lastId = 0;

  constructor(seed: number, counts: ModelCounts) {
    this.#random = createRandom(seed);
    this.#counts = counts;
    this.#replicas = Array.from({ length: REPLICAS }, () => this.#boot());
  }

  async run(): Promise<void> {
    const ids = Array.from({ length: IDS }, () => this.#drawId());
    for (const id of ids) this.#logIn(id);
    for (let action = 0; action < ACTIONS; action++) {
      const [id = this.#drawId()] = this.#draw(ids);
      this.#act(id);
      const steps = Math.floor(this.#random() * MAX_STEPS);
      for (let step = 0; step < steps; step++) await this.#step();
    }
    await this.#settle();
    this.#time.advance(TOKEN_MS);
    for (const replica of this.#replicas) replica.skewMs = 0;
    await this.#checkGrants(ids);
  }

  #act(id: VaultId): void {
    const [replica] = this.#draw(this.#replicas);
    if (replica === undefined) return;
    const choice = this.#random();
    if (choice < 0.3) void this.#obtain(replica, id);
    else if (choice < 0.6) this.#reject(id);
    else if (choice < 0.68) this.#crash(replica);
    else if (choice < 0.74) this.#revoke(replica, id);
    else if (choice < 0.78) this.#logIn(id);
    else if (choice < 0.84) {
      replica.skewMs += (this.#random() - 0.5) * 4 * TOKEN_MS;
    } else if (choice < 0.88) this.#rotateKeys(replica);
    else if (choice < 0.9) this.#time.advance(20_000);
    else this.#time.advance(TOKEN_MS * this.#random());
  }

  /** The backend has rejected the current token at several replicas. */
  #reject(id: VaultId): void {
    const rejected = this.#server.latestOf(ownerOf(id))?.current;
    for (const replica of this.#replicas) {
      if (this.#random() < 0.6) void this.#obtain(replica, id, rejected);
    }
  }

  /** Everybody gets the new key before anybody seals with it. */
  #rotateKeys(replica: Replica): void {
    const [current, next] = replica.keys;
    if (next !== undefined) {
      replica.keys = [next, current];
      return;
    }
    const added = `key ${++this.#lastId} of the vault, which has 32 characters`;
    for (const each of this.#replicas) each.keys = [each.keys[0], added];
  }

  async #obtain(
    replica: Replica,
    id: VaultId,
    rejected = -1,
  ): Promise<JsonObject | undefined> {
    const startedAt = this.#server.now();
    try {
      const value = await replica.vault.obtain(id, {
        isValid: ({ endsAt, refresh }) =>
          this.#now(replica) < Number(endsAt) && Number(refresh) > rejected,
        renew: (value, cancellation) =>
          this.#renew(replica, value, cancellation),
      });
      this.#counts.tokens++;
      const { owner, grant } = value;
      const isForeign = owner !== ownerOf(id) ||
        this.#server.wasRevoked(Number(grant), startedAt);
      if (isForeign) this.#counts.foreign++;
      return value;
    } catch {
      // The record is gone, or another process had it for too long: the end of the schedule tells which.
      return undefined;
    }
  }

  async #renew(
    replica: Replica,
    value: JsonObject | undefined,
    cancellation: Cancellation,
  ): Promise<JsonObject> {
    if (value === undefined) throw new EndedError("nobody has logged in");
    await this.#turn(replica);
    if (cancellation.cancelled) throw cancellation.reason;
    const { grant, refresh, owner } = value;
    const next = this.#server.refresh(Number(grant), Number(refresh));
    await this.#turn(replica);
    if (next === undefined) throw new EndedError("invalid_grant");
    this.#counts.renewals++;
    const endsAt = this.#now(replica) + TOKEN_MS;
    return { owner, grant, refresh: next, endsAt };
  }

  #logIn(id: VaultId): void {
    const [replica] = this.#draw(this.#replicas);
    if (replica === undefined) return;
    const owner = ownerOf(id);
    const grant = this.#server.grant(owner);
    // Which of the two comes first is open.
    const isRevoking = [...this.#revoking].some((each) => each.owner === owner);
    if (isRevoking) this.#server.mayBeRevoked(owner);
    const endsAt = this.#now(replica) + TOKEN_MS;
    replica.vault.write(id, { owner, grant, refresh: 0, endsAt }).catch(
      () => {},
    );
  }

  #revoke(replica: Replica, id: VaultId): void {
    this.#counts.revocations++;
    const owner = ownerOf(id);
    const revocation = { owner, replica };
    this.#revoking.add(revocation);
    this.#server.mayBeRevoked(owner);
    replica.vault.remove(id).then((removed) => {
      if (removed !== undefined) this.#server.revoke(Number(removed["grant"]));
    }, () => {}).finally(() => this.#revoking.delete(revocation));
  }

  #crash(replica: Replica): void {
    this.#counts.crashes++;
    replica.epoch++;
    for (const revocation of this.#revoking) {
      if (revocation.replica === replica) this.#revoking.delete(revocation);
    }
    replica.vault = this.#createVault(replica);
  }

  /** Grants whose latest state is in the store must work. */
  async #checkGrants(ids: readonly VaultId[]): Promise<void> {
    const [replica] = this.#replicas;
    if (replica === undefined) return;
    for (const owner of new Set(ids.map(ownerOf))) {
      const id = ids.find((each) => ownerOf(each) === owner);
      const grant = this.#server.latestOf(owner);
      if (id === undefined || grant === undefined) continue;
      let isDone = false;
      const obtained = this.#obtain(replica, id).finally(() => isDone = true);
      while (!isDone) await this.#settle();
      const value = await obtained;
      if (value !== undefined || grant.mayBeRevoked) continue;
      if (grant.isWritten) this.#counts.lost++;
      else this.#counts.unlucky++;
    }
  }

  /** Runs all processes until they wait for nothing. */
  async #settle(): Promise<void> {
    while (this.#pending.length > 0 || this.#time.pending > 0) {
      while (this.#pending.length > 0) await this.#step();
      this.#time.advance(1000);
      await drain();
    }
  }

  async #step(): Promise<void> {
    const index = Math.floor(this.#random() * this.#pending.length);
    const [chosen] = this.#pending.splice(index, 1);
    if (chosen === undefined) {
      this.#time.advance(50);
    } else if (chosen.epoch === chosen.replica.epoch) chosen.run();
    await drain();
  }

  /** Resolves when the schedule lets the process go on; never after a crash. */
  #turn(replica: Replica): Promise<void> {
    const { epoch } = replica;
    return new Promise((run) => this.#pending.push({ replica, epoch, run }));
  }

  #boot(): Replica {
    const keys: VaultKeys = ["the first key of the vault, of 32 characters"];
    const replica = { epoch: 0, skewMs: 0, keys };
    const vault = this.#createVault(replica);
    return Object.assign(replica, { vault });
  }

  #createVault(replica: Omit<Replica, "vault">): Vault {
    const clock = this.#clockOf(replica);
    const seal = new VaultSeal(() => replica.keys);
    return new Vault({
      clock,
      maxAgeMs: MAX_AGE_MS,
      randomId: () => `lease ${++this.#lastId}`,
      store: new KvStore({
        open: () => Promise.resolve(this.#openStore(replica)),
        clock,
        random: this.#random,
      }),
      seal: Object.assign(Object.create(seal), {
        open: (id: VaultId, sealed: string) => seal.open(id, sealed),
        seal: (id: VaultId, value: JsonObject) => {
          const sealed = seal.seal(id, value);
          this.#sealed.set(sealed, value);
          return sealed;
        },
      }),
    });
  }

  #now({ skewMs }: Pick<Replica, "skewMs">): number {
    return this.#time.now() + skewMs;
  }

  #clockOf(replica: Omit<Replica, "vault">): Clock {
    const { epoch } = replica;
    return {
      now: () => this.#now(replica),
      monotonic: () => this.#time.monotonic(),
      setTimer: (callback, delayMs) =>
        this.#time.setTimer(() => {
          if (replica.epoch === epoch) callback();
        }, delayMs),
    };
  }

  /** A store whose every operation takes two turns: the process may crash before it and after it. */
  #openStore(replica: Omit<Replica, "vault">): KvHandle {
    const turn = () => this.#turn(replica as Replica);
    return {
      read: async (key) => {
        await turn();
        const record = this.#records.get(JSON.stringify(key));
        return record ?? { value: null, version: null };
      },
      replace: async (key, version, { value }) => {
        await turn();
        const name = JSON.stringify(key);
        const current = this.#records.get(name)?.version ?? null;
        const isSame = current === version;
        if (isSame) {
          this.#records.set(name, { version: `${++this.#lastId}`, value });
          this.#written(value);
        }
        await turn();
        return isSame;
      },
      commit: () => Promise.reject(new Error("not used")),
      list: () => Promise.resolve([]),
      delete: () => Promise.resolve(),
      close: () => {},
    };
  }

  #written(value: unknown): void {
    const sealed = Object(value)["sealed"];
    const state = this.#sealed.get(String(sealed));
    if (state === undefined) return;
    this.#server.written(Number(state["grant"]), Number(state["refresh"]));
  }

  #drawId(): VaultId {
    const draw = (count: number) => Math.floor(this.#random() * count);
    return {
      issuer: "https://users.example/",
      subject: `user${draw(USERS)}`,
      server: `default/server${draw(SERVERS)}`,
      resource: "https://api.example/",
      client: "gateway",
    };
  }

  #draw<T>(list: readonly T[]): readonly [T] | readonly [] {
    const drawn = list[Math.floor(this.#random() * list.length)];
    return drawn === undefined ? [] : [drawn];
  }
}

function ownerOf({ subject, server }: VaultId): string {
  return `${subject} ${server}`;
}

async function drain(): Promise<void> {
  for (let tick = 0; tick < TICKS; tick++) await null;
}
