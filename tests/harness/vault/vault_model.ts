/** Replicas that share a vault, run one step at a time in an order that a seed decides, with crashes, revocations and clock steps. */
import type { ListedConnection } from "../../../src/identity/connections/connection_index.ts";
import type { GatewayUser } from "../../../src/identity/connections/user_login.ts";
import type { VaultKeys } from "../../../src/identity/vault/vault_seal.ts";
import type { KvStore } from "../../../src/kv/kv_store.ts";
import { createRandom } from "../clients/mutations.ts";
import { FakeClock } from "../time/fake_clock.ts";
import {
  loginOf,
  ModelReplica,
  type ModelWorld,
  readToken,
  TOKEN_MS,
  tokenOf,
} from "./model_replica.ts";
import { RotatingServer } from "./rotating_server.ts";
import { SteppedStore, Steps } from "./stepped_store.ts";

const USERS = 50;
const SERVERS = 10;
const REPLICAS = 4;
/** Users and servers that one schedule is about: few, so that they meet. */
const USERS_OF_SCHEDULE = 2;
const SERVERS_OF_SCHEDULE = 2;
const ACTIONS = 12;
const MAX_STEPS = 14;
/** Microtasks between two steps of a process. */
const TICKS = 32;
/** A replica uses a token of a connection that another one has ended for so long: a second, and an operation of the store. */
const SEEN_MS = 6000;
/** The same if its store has failed. */
const UNSEEN_MS = 36_000;

/** Counts of schedules. */
export interface ModelCounts {
  /** Tokens for somebody or something else than the caller asked for, or of a connection that had ended before. */
  foreign: number;
  /** Grants that are gone, though nobody revoked them and their last response was written. */
  lost: number;
  /** Connections that the list of the admin does not have. */
  unlisted: number;
  /** Grants whose last response was lost in a crash or on its way, or came too late: users log in again. */
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
    unlisted: 0,
    unlucky: 0,
    tokens: 0,
    renewals: 0,
    crashes: 0,
    revocations: 0,
  };
}

/** Reports whether something happened that must not. */
export function hasFaults(
  { foreign, lost, unlisted }: ModelCounts,
): boolean {
  return foreign + lost + unlisted > 0;
}

/** Adds counts to others. */
export function addCounts(sum: ModelCounts, counts: ModelCounts): void {
  sum.foreign += counts.foreign;
  sum.lost += counts.lost;
  sum.unlisted += counts.unlisted;
  sum.unlucky += counts.unlucky;
  sum.tokens += counts.tokens;
  sum.renewals += counts.renewals;
  sum.crashes += counts.crashes;
  sum.revocations += counts.revocations;
}

/** Runs the schedule of a seed, and adds what happened to `counts`. */
export async function runSchedule(
  seed: number,
  counts: ModelCounts,
): Promise<void> {
  await new Schedule(seed, counts).run();
}

/** A user and a server. */
interface Pair {
  readonly user: GatewayUser;
  readonly backend: string;
  /** Name in tokens. */
  readonly owner: string;
}

/** The end of a connection: number of the event, and time. */
interface EndedGrant {
  readonly event: number;
  readonly at: number;
  readonly by: ModelReplica;
}

class Schedule implements ModelWorld {
  readonly random: () => number;
  readonly time = new FakeClock();
  readonly steps = new Steps();
  readonly server = new RotatingServer();
  readonly store = new SteppedStore(this.steps, (value) => this.#note(value));
  readonly #counts: ModelCounts;
  readonly #pairs: readonly Pair[];
  readonly #replicas: readonly ModelReplica[];
  readonly #ended = new Map<number, EndedGrant>();
  /** Revocations under way. */
  readonly #revoking = new Set<
    { readonly owner: string; readonly by: ModelReplica }
  >();
  #names = 0;
  #events = 0;

  constructor(seed: number, counts: ModelCounts) {
    this.random = createRandom(seed);
    this.#counts = counts;
    this.#pairs = this.#drawPairs();
    const keys: VaultKeys = ["the first key of the vault, of 32 characters"];
    this.#replicas = Array.from(
      { length: REPLICAS },
      () => new ModelReplica(this, keys),
    );
  }

  uniqueName = (): string => `name ${++this.#names}`;

  onRenewed = (): void => {
    this.#counts.renewals++;
  };

  onRevoked = (grant: number, by: ModelReplica): void => {
    const at = this.time.monotonic();
    this.#ended.set(grant, { event: ++this.#events, at, by });
    for (const pair of this.#pairs) void this.#call(by, pair);
  };

  async run(): Promise<void> {
    const pairs = this.#pairs;
    for (const pair of pairs) this.#logIn(pair);
    for (let action = 0; action < ACTIONS; action++) {
      this.#act(this.#draw(pairs));
      const steps = Math.floor(this.random() * MAX_STEPS);
      for (let step = 0; step < steps; step++) await this.#step();
    }
    this.server.isAway = false;
    await this.#settle();
    this.time.advance(TOKEN_MS);
    for (const replica of this.#replicas) replica.skewMs = 0;
    await this.#checkGrants(pairs);
  }

  #act(pair: Pair): void {
    const replica = this.#draw(this.#replicas);
    const choice = this.random();
    if (choice < 0.3) void this.#call(replica, pair);
    else if (choice < 0.56) this.#reject(pair);
    else if (choice < 0.64) this.#crash(replica);
    else if (choice < 0.7) void this.#revoke(replica, pair);
    else if (choice < 0.76) this.#logIn(pair);
    else if (choice < 0.8) {
      replica.skewMs += (this.random() - 0.5) * 4 * TOKEN_MS;
    } else if (choice < 0.84) this.#rotateKeys(replica);
    else if (choice < 0.86) this.server.isAway = !this.server.isAway;
    else if (choice < 0.88) this.time.advance(20_000);
    else if (choice < 0.94) this.time.advance(2000 * this.random());
    else this.time.advance(TOKEN_MS * this.random());
  }

  /** The backend has rejected the current token at several replicas. */
  #reject(pair: Pair): void {
    for (const replica of this.#replicas) {
      if (this.random() < 0.6) void this.#call(replica, pair, true);
    }
  }

  /** A request for a backend. @param isRejected The backend does not accept its first token. */
  async #call(
    replica: ModelReplica,
    { user, backend, owner }: Pair,
    isRejected = false,
  ): Promise<void> {
    const { tokens, store } = replica.parts;
    const caller = { ...user, token: "", rights: "" };
    const check = (token: string, event: number, at: number) => {
      this.#counts.tokens++;
      const read = readToken(token);
      const isOver = this.#isOver(read.grant, { replica, store, event, at });
      if (read.owner !== owner || isOver) this.#counts.foreign++;
    };
    try {
      const at = this.time.monotonic();
      const event = ++this.#events;
      const { token } = await tokens.get(loginOf(backend), caller);
      check(token, event, at);
      if (!isRejected) return;
      const again = this.time.monotonic();
      const next = await tokens.replace(loginOf(backend), caller, token);
      if (next !== undefined) check(next.token, event, again);
    } catch {
      // The user has to log in, or the server is away: the end of the schedule tells whether that is right.
    }
  }

  /** Reports whether a connection had ended, as far as the replica could know, when it was asked. */
  #isOver(
    grant: number,
    { replica, store, event, at }: {
      readonly replica: ModelReplica;
      readonly store: Pick<KvStore, "counters">;
      readonly event: number;
      readonly at: number;
    },
  ): boolean {
    const ended = this.#ended.get(grant);
    if (ended === undefined) return false;
    if (ended.by === replica) return event > ended.event;
    const hasFailed = store.counters.failures > 0;
    return at > ended.at + (hasFailed ? UNSEEN_MS : SEEN_MS);
  }

  /** Everybody gets the new key before anybody seals with it. */
  #rotateKeys(replica: ModelReplica): void {
    const [current, next] = replica.keys;
    if (next !== undefined) {
      replica.keys = [next, current];
      return;
    }
    const added = `${this.uniqueName()}: a key of the vault, 32 characters`;
    for (const each of this.#replicas) each.keys = [each.keys[0], added];
  }

  #logIn({ user, backend, owner }: Pair): void {
    const replica = this.#draw(this.#replicas);
    const grant = this.server.grant(owner);
    // Which of the two comes first is open.
    const isRevoking = [...this.#revoking].some((each) => each.owner === owner);
    if (isRevoking) this.server.mayBeRevoked(owner);
    const { connections } = replica.parts;
    const login = loginOf(backend);
    connections.keep(login, user, {
      ...tokenOf(owner, grant, 0),
      proofKey: undefined,
      endsAt: replica.now() + TOKEN_MS,
      scopes: [],
      issuer: "https://as.example/",
      resource: login.resource,
      clientId: "gateway",
      clientSecret: undefined,
      connectedAt: replica.now(),
    }).catch(() => {});
  }

  /** Ends a connection that replicas have just used; they ask for its token again as soon as it must not be used any more. */
  async #revoke(by: ModelReplica, pair: Pair): Promise<void> {
    const { user, backend, owner } = pair;
    const users = this.#replicas.filter(() => this.random() < 0.5);
    await Promise.all(users.map((each) => this.#call(each, pair)));
    this.#counts.revocations++;
    const revocation = { owner, by };
    this.#revoking.add(revocation);
    this.server.mayBeRevoked(owner);
    by.parts.connections.revoke(loginOf(backend), user).catch(() => {})
      .finally(() => this.#revoking.delete(revocation));
    this.time.setTimer(() => {
      for (const replica of this.#replicas) void this.#call(replica, pair);
    }, SEEN_MS + 500);
  }

  #crash(replica: ModelReplica): void {
    this.#counts.crashes++;
    replica.crash();
    for (const revocation of this.#revoking) {
      if (revocation.by === replica) this.#revoking.delete(revocation);
    }
  }

  /** Grants whose latest state is in the store must work, and be listed. */
  async #checkGrants(pairs: readonly Pair[]): Promise<void> {
    const [replica] = this.#replicas;
    if (replica === undefined) return;
    const { connections, index } = replica.parts;
    for (const { user, backend, owner } of pairs) {
      const grant = this.server.latestOf(owner);
      if (grant === undefined) continue;
      const login = loginOf(backend);
      const token = await this.#await(
        connections.obtain(login, user, undefined).catch(() => undefined),
      );
      if (token === undefined) {
        if (grant.mayBeRevoked) continue;
        if (grant.isWritten) this.#counts.lost++;
        else this.#counts.unlucky++;
        continue;
      }
      const { opened } = await this.#await(index.list());
      const isListed = opened.some((entry) => isOf(entry, user, backend));
      if (!isListed) this.#counts.unlisted++;
    }
  }

  async #await<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    void promise.finally(() => isDone = true).catch(() => {});
    while (!isDone) await this.#settle();
    return await promise;
  }

  /** Runs all processes until they wait for nothing. */
  async #settle(): Promise<void> {
    await drain();
    while (this.steps.size > 0 || this.time.pending > 0) {
      while (this.steps.size > 0) await this.#step();
      this.time.advance(1000);
      await drain();
    }
  }

  async #step(): Promise<void> {
    const share = this.random();
    if (this.steps.size > 0) this.steps.run(share);
    else this.time.advance(50);
    await drain();
  }

  #note(value: unknown): void {
    const { sealed = "{}" } = Object(value);
    const { token } = JSON.parse(sealed).value ?? {};
    if (typeof token !== "string") return;
    const { grant, refresh } = readToken(token);
    this.server.written(grant, refresh);
  }

  #drawPairs(): readonly Pair[] {
    const users = Array.from(
      { length: USERS_OF_SCHEDULE },
      () => this.#drawUser(),
    );
    const backends = Array.from(
      { length: SERVERS_OF_SCHEDULE },
      () => `default/server${Math.floor(this.random() * SERVERS)}`,
    );
    const pairs = users.flatMap((user) =>
      backends.map((backend) => {
        const owner = `${user.issuer} ${user.subject} ${backend}`;
        return { user, backend, owner };
      })
    );
    return [...new Map(pairs.map((pair) => [pair.owner, pair])).values()];
  }

  /** Half of the users have the subject of another one, at another issuer. */
  #drawUser(): GatewayUser {
    const number = Math.floor(this.random() * USERS);
    const issuer = number % 2 === 0
      ? "https://users.example/"
      : "https://users.example";
    return { issuer, subject: `user${Math.floor(number / 2)}` };
  }

  #draw<T>(list: readonly T[]): T {
    const drawn = list[Math.floor(this.random() * list.length)];
    if (drawn === undefined) throw new Error("nothing to draw from");
    return drawn;
  }
}

function isOf(
  { issuer, subject, server }: ListedConnection,
  user: GatewayUser,
  backend: string,
): boolean {
  return issuer === user.issuer && subject === user.subject &&
    server === backend;
}

async function drain(): Promise<void> {
  for (let tick = 0; tick < TICKS; tick++) await null;
}
