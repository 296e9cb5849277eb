import { createHash } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import type { PasswordCheck } from "./htpasswd.ts";

/** How long a password that was right is not computed again. */
const REMEMBERED_MS = 5 * 60_000;
/** How many credentials are remembered. */
const MAX_REMEMBERED = 1024;
/** How many requests wait for a slow computation. */
const MAX_WAITING = 32;

/** `busy`: too many passwords are waiting to be checked. */
export type Verdict = "right" | "wrong" | "busy";

/**
 * Checks names and passwords, the slow ones one after the other and seldom: what was right or wrong is remembered by its hash.
 *
 * A name that nobody has costs what a wrong password of the slowest user costs, so that names cannot be found out.
 */
export class PasswordVerifier {
  readonly #users: ReadonlyMap<string, PasswordCheck>;
  readonly #clock: Clock;
  /** Stands in for users that do not exist. */
  readonly #decoy: PasswordCheck | undefined;
  readonly #remembered = new Map<string, { right: boolean; until: number }>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(users: ReadonlyMap<string, PasswordCheck>, clock: Clock) {
    this.#users = users;
    this.#clock = clock;
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
      const matches = await check.matches(password);
      const right = matches && exists;
      this.#remember(key, right);
      return right;
    }).finally(() => this.#waiting--);
    this.#last = turn;
    return verdictOf(await turn);
  }

  #recall(key: string): boolean | undefined {
    const entry = this.#remembered.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#clock.monotonic()) return entry.right;
    this.#remembered.delete(key);
    return undefined;
  }

  #remember(key: string, right: boolean): void {
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined && this.#remembered.size >= MAX_REMEMBERED) {
      this.#remembered.delete(oldest);
    }
    const until = this.#clock.monotonic() + REMEMBERED_MS;
    this.#remembered.set(key, { right, until });
  }
}

function verdictOf(right: boolean): Verdict {
  return right ? "right" : "wrong";
}
