import { createHash } from "node:crypto";
import { type Clock, delay } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import type { PasswordCheck } from "./htpasswd.ts";
import { TurnQueue } from "./turn_queue.ts";

/** Lifetime of a cached verdict; each use of a right password renews it. */
const VERDICT_MS = 5 * 60_000;
/** Limit of cached right credentials, and of wrong ones. */
const MAX_VERDICTS = 1024;

/** `busy`: too many passwords are waiting to be checked. */
export type Verdict = "right" | "wrong" | "busy";

/**
 * Checks names and passwords. Slow checks run one at a time, and verdicts are cached by the hash of the credentials.
 *
 * Users and clients take turns, so that guessing the passwords of one user does not lock out the others. A pause as long as the
 * check follows each slow check and leaves half of the time to other requests. An unknown name takes as long as a wrong password,
 * so that timing does not reveal names.
 */
export class PasswordVerifier {
  readonly #users: ReadonlyMap<string, PasswordCheck>;
  readonly #clock: Clock;
  /** Stands in for users that do not exist. */
  readonly #decoy: PasswordCheck | undefined;
  readonly #right: VerdictCache;
  /** Separate from the right ones, which clients with wrong passwords must not evict. */
  readonly #wrong: VerdictCache;
  /** Running checks, by the hash of name and password. */
  readonly #pending = new Map<string, Promise<Verdict>>();
  readonly #turns: TurnQueue;
  #restUntil = 0;

  constructor(
    users: ReadonlyMap<string, PasswordCheck>,
    clock: Clock,
    turns = new TurnQueue(),
  ) {
    this.#turns = turns;
    this.#users = users;
    this.#clock = clock;
    this.#right = new VerdictCache(clock);
    this.#wrong = new VerdictCache(clock);
    const checks = [...users.values()];
    this.#decoy = checks.find(({ isSlow }) => isSlow) ?? checks[0];
  }

  /** @param address IP address of the client. */
  verify(
    username: string,
    password: string,
    address: string,
  ): Verdict | Promise<Verdict> {
    const user = this.#users.get(username);
    const check = user ?? this.#decoy;
    if (check === undefined) return "wrong";
    const key = createHash("sha256")
      .update(JSON.stringify([username, password])).digest("base64");
    const known = this.#recall(key);
    if (known !== undefined) return verdictOf(known);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    // Unknown names share a lane: a client can invent any number of them.
    const lane = `${networkOf(address)} ${user === undefined ? "" : username}`;
    const verdict = this.#turns.run(lane, async () => {
      const matches = await this.#check(check, password);
      const isRight = matches && user !== undefined;
      (isRight ? this.#right : this.#wrong).add(key);
      return verdictOf(isRight);
    }).then((result) => result ?? "busy")
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, verdict);
    return verdict;
  }

  async #check(check: PasswordCheck, password: string): Promise<boolean> {
    if (!check.isSlow) return await check.matches(password);
    await this.#rest();
    const startedAt = this.#clock.monotonic();
    try {
      return await check.matches(password);
    } finally {
      const now = this.#clock.monotonic();
      this.#restUntil = now + (now - startedAt);
    }
  }

  async #rest(): Promise<void> {
    const restMs = this.#restUntil - this.#clock.monotonic();
    if (restMs > 0) await delay(this.#clock, restMs);
  }

  #recall(key: string): boolean | undefined {
    if (this.#right.has(key)) {
      this.#right.add(key);
      return true;
    }
    return this.#wrong.has(key) ? false : undefined;
  }
}

/** A set of hashes that expire; when it is full, the oldest one is evicted. */
class VerdictCache {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(key: string): boolean {
    const until = this.#until.get(key);
    if (until === undefined) return false;
    if (until > this.#clock.monotonic()) return true;
    this.#until.delete(key);
    return false;
  }

  add(key: string): void {
    const until = this.#clock.monotonic() + VERDICT_MS;
    setNewest(this.#until, key, until, MAX_VERDICTS);
  }
}

/** Returns the network of one client: an IPv4 address, or the first half of an IPv6 address. */
function networkOf(address: string): string {
  return address.includes(".")
    ? address
    : address.split(":").slice(0, 4).join(":");
}

function verdictOf(right: boolean): Verdict {
  return right ? "right" : "wrong";
}
