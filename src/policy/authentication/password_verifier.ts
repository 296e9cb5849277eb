import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { PasswordCheck } from "./htpasswd.ts";

/** How long a password is not computed again; one that is right and in use, not before it was not used for so long. */
const REMEMBERED_MS = 5 * 60_000;
/** How many credentials are remembered that were right, and as many that were wrong. */
const MAX_REMEMBERED = 1024;
/** How many requests wait for a slow computation. */
const MAX_WAITING = 32;

/** `busy`: too many passwords are waiting to be checked. */
export type Verdict = "right" | "wrong" | "busy";

/**
 * Checks names and passwords, the slow ones one after the other and seldom: what was right or wrong is remembered by its hash.
 *
 * After each slow check comes a pause as long as the check, so that whoever guesses passwords leaves half of the time to other requests.
 * A name that nobody has costs what a wrong password of a slow user costs, so that names cannot be found out.
 */
export class PasswordVerifier {
  readonly #users: ReadonlyMap<string, PasswordCheck>;
  readonly #clock: Clock;
  /** Stands in for users that do not exist. */
  readonly #decoy: PasswordCheck | undefined;
  readonly #right: VerdictMemory;
  /** Apart from those that were right: they are anybody's to add, and must not push those out. */
  readonly #wrong: VerdictMemory;
  #waiting = 0;
  #restUntil = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(users: ReadonlyMap<string, PasswordCheck>, clock: Clock) {
    this.#users = users;
    this.#clock = clock;
    this.#right = new VerdictMemory(clock);
    this.#wrong = new VerdictMemory(clock);
    const checks = [...users.values()];
    this.#decoy = checks.find(({ isSlow }) => isSlow) ?? checks[0];
  }

  verify(username: string, password: string): Verdict | Promise<Verdict> {
    const user = this.#users.get(username);
    const check = user ?? this.#decoy;
    if (check === undefined) return "wrong";
    const key = createHash("sha256")
      .update(JSON.stringify([username, password])).digest("base64");
    const known = this.#recall(key);
    if (known !== undefined) return verdictOf(known);
    if (this.#waiting >= MAX_WAITING) return "busy";
    return this.#verifyInTurn(check, password, key, user !== undefined);
  }

  async #verifyInTurn(
    check: PasswordCheck,
    password: string,
    key: string,
    exists: boolean,
  ): Promise<Verdict> {
    this.#waiting++;
    const turn = this.#last.then(async () => {
      // Whoever asked the same before may have found out.
      const known = this.#recall(key);
      if (known !== undefined) return known;
      const matches = await this.#check(check, password);
      const right = matches && exists;
      if (right) this.#right.add(key);
      else this.#wrong.add(key);
      return right;
    }).finally(() => this.#waiting--);
    this.#last = turn.catch(() => {});
    return verdictOf(await turn);
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
    if (restMs <= 0) return;
    await new Promise<void>((resolve) => this.#clock.setTimer(resolve, restMs));
  }

  #recall(key: string): boolean | undefined {
    if (this.#right.has(key)) {
      this.#right.add(key);
      return true;
    }
    return this.#wrong.has(key) ? false : undefined;
  }
}

/** Hashes of credentials, for some time; when it is full, the one that was added first goes. */
class VerdictMemory {
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
    this.#until.delete(key);
    const [oldest] = this.#until.keys();
    if (oldest !== undefined && this.#until.size >= MAX_REMEMBERED) {
      this.#until.delete(oldest);
    }
    this.#until.set(key, this.#clock.monotonic() + REMEMBERED_MS);
  }
}

function verdictOf(right: boolean): Verdict {
  return right ? "right" : "wrong";
}
