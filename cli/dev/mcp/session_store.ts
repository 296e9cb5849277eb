import type { Clock } from "../../../src/base/clock.ts";
import type { Session } from "./session.ts";

/** Limits of kept sessions. */
export interface SessionLimits {
  /** A session without open requests for this long is closed. */
  readonly idleTimeoutMs: number;
  readonly maxSessions: number;
}

interface Entry {
  readonly session: Session;
  openRequests: number;
  lastUsed: number;
}

/** Open sessions, least recently used first. */
export class SessionStore {
  readonly #entries = new Map<string, Entry>();
  readonly #limits: SessionLimits;
  readonly #clock: Clock;

  constructor(limits: SessionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Returns a session and marks it as in use until `done`. */
  use(id: string, done: Promise<void>): Session | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    entry.openRequests++;
    const release = () => {
      entry.openRequests--;
      entry.lastUsed = this.#clock.monotonic();
    };
    done.then(release, release);
    return entry.session;
  }

  add(id: string, session: Session): void {
    this.#entries.set(id, {
      session,
      openRequests: 0,
      lastUsed: this.#clock.monotonic(),
    });
  }

  remove(id: string): void {
    this.#entries.delete(id);
  }

  /** Closes sessions that are idle for too long and, when the store is full, the one idle for longest. */
  async makeRoom(): Promise<boolean> {
    const now = this.#clock.monotonic();
    for (
      const { session, openRequests, lastUsed } of [...this.#entries.values()]
    ) {
      const expired = now - lastUsed >= this.#limits.idleTimeoutMs;
      if (openRequests === 0 && (expired || this.#isFull())) {
        await session.close();
      }
    }
    return !this.#isFull();
  }

  async closeAll(): Promise<void> {
    await Promise.all(
      Array.from(this.#entries.values(), ({ session }) => session.close()),
    );
  }

  #isFull(): boolean {
    return this.#entries.size >= this.#limits.maxSessions;
  }
}
