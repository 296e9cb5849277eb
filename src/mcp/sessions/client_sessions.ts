import { recentTime } from "../../base/clock.ts";
import { setNewest } from "../../base/kept_values.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { legacyRevisions } from "../protocol/revisions.ts";
import { ClientSession } from "./client_session.ts";
import {
  isTooOld,
  openSession,
  sealSession,
  type SessionFacts,
} from "./session_id.ts";

/** Sessions with state in this process; clients of others come back with their sealed id. */
const MAX_SESSIONS = 10_000;
const IDLE_MS = 30 * 60_000;
const CHECK_MS = 60_000;
/** The order of sessions that were used within this time does not matter. */
const ORDER_MS = 1000;
/** Ids of sessions that have ended, which nobody can continue. */
const MAX_ENDED = 10_000;
/** Opening the seal of an id costs several times as much as finding it here. */
const MAX_OPENED = 512;

/** The sessions of clients of the legacy era. */
export class ClientSessions {
  readonly #services: EndpointServices;
  /** By nonce, in the order of their last use, about. */
  readonly #sessions = new Map<string, ClientSession>();
  readonly #ended = new Set<string>();
  /** Contents of the ids that were read last, the oldest first. */
  readonly #opened = new Map<string, SessionFacts>();
  #stopTimer: (() => void) | undefined;

  constructor(services: EndpointServices) {
    this.#services = services;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Adds a new session; returns its id. */
  add(session: ClientSession, facts: SessionFacts): string {
    this.#keep(session);
    return sealSession(this.#services.seal, facts);
  }

  /** Reads an id; `undefined` if it is that of no session of the user. */
  read(id: string, user: string): SessionFacts | undefined {
    const facts = this.#open(id);
    return facts === undefined || facts.user !== user ||
        this.#ended.has(facts.nonce)
      ? undefined
      : facts;
  }

  #open(id: string): SessionFacts | undefined {
    const { seal, clock } = this.#services;
    const known = this.#opened.get(id);
    if (known !== undefined && !isTooOld(known, clock.now())) return known;
    const facts = openSession(seal, id, clock.now());
    if (facts === undefined) return undefined;
    setNewest(this.#opened, id, facts, MAX_OPENED);
    return facts;
  }

  /** Returns the session of a request, if this worker has it; `undefined` for anything else that the headers say. */
  find(
    id: string | undefined,
    revision: string | undefined,
    user: string,
  ): ClientSession | undefined {
    const isKnown = revision === undefined ||
      legacyRevisions.includes(revision);
    const facts = id === undefined || !isKnown
      ? undefined
      : this.read(id, user);
    return facts?.worker === this.#services.worker
      ? this.use(facts)
      : undefined;
  }

  /** Returns a session, which may have begun in another process. */
  use(facts: SessionFacts): ClientSession {
    const now = recentTime(this.#services.clock);
    const known = this.#sessions.get(facts.nonce);
    if (known !== undefined && now - known.usedAt < ORDER_MS) {
      known.usedAt = now;
      return known;
    }
    const session = known ?? new ClientSession(facts, this.#services);
    session.usedAt = now;
    this.#sessions.delete(facts.nonce);
    this.#keep(session);
    return session;
  }

  /** Ends a session. */
  async end(facts: SessionFacts): Promise<void> {
    const session = this.use(facts);
    this.#sessions.delete(facts.nonce);
    this.#ended.add(facts.nonce);
    const oldest = this.#ended.values().next().value;
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) {
      this.#ended.delete(oldest);
    }
    await session.close();
  }

  /** Forgets all sessions, whose clients continue them elsewhere; their requests finish. */
  leave(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (const session of this.#sessions.values()) session.leave();
    this.#sessions.clear();
  }

  /** Forgets all sessions, and ends their requests. */
  close(): void {
    for (const session of this.#sessions.values()) session.suspend();
    this.leave();
  }

  #keep(session: ClientSession): void {
    this.#sessions.set(session.facts.nonce, session);
    this.#stopTimer ??= this.#services.clock.setTimer(
      () => this.#endIdle(),
      CHECK_MS,
    );
    if (this.#sessions.size <= MAX_SESSIONS) return;
    for (const [nonce, oldest] of this.#sessions) {
      if (oldest.isBusy || oldest === session) continue;
      this.#sessions.delete(nonce);
      void oldest.close();
      return;
    }
  }

  #endIdle(): void {
    const { clock } = this.#services;
    this.#stopTimer = this.#sessions.size === 0
      ? undefined
      : clock.setTimer(() => this.#endIdle(), CHECK_MS);
    const before = clock.monotonic() - IDLE_MS;
    for (const [nonce, session] of this.#sessions) {
      if (session.usedAt > before || session.isBusy) continue;
      this.#sessions.delete(nonce);
      void session.close();
    }
  }
}
