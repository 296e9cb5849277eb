/** A grant of an authorization server. */
interface Grant {
  readonly owner: string;
  /** Number of the refresh token that is valid. */
  current: number;
  isDead: boolean;
  /** A revocation has begun. */
  mayBeRevoked: boolean;
  revokedAt: number;
  /** The gateway has written the refresh token that is valid. */
  isWritten: boolean;
}

/** An authorization server that rotates refresh tokens, and ends a grant of which one is used twice (RFC 9700 section 4.14.2). */
export class RotatingServer {
  readonly #grants: Grant[] = [];
  readonly #kept = new Map<string, Grant>();
  #events = 0;

  /** Counts events, for their order. */
  now(): number {
    return ++this.#events;
  }

  /** Begins a grant; returns its number. Those that the owner had stay valid. */
  grant(owner: string): number {
    return this.#grants.push({
      owner,
      current: 0,
      isDead: false,
      mayBeRevoked: false,
      revokedAt: Infinity,
      isWritten: false,
    }) - 1;
  }

  /** Redeems a refresh token; `undefined` is `invalid_grant`. */
  refresh(grant: number, token: number): number | undefined {
    const known = this.#grants[grant];
    if (known === undefined || known.isDead) return undefined;
    if (token !== known.current) {
      known.isDead = true;
      return undefined;
    }
    known.isWritten = false;
    return ++known.current;
  }

  /** Records that the gateway has stored a refresh token. */
  written(grant: number, token: number): void {
    const known = this.#grants[grant];
    if (known === undefined) return;
    this.#kept.set(known.owner, known);
    if (known.current === token) known.isWritten = true;
  }

  /** Records that the grants that an owner has now may be revoked from now on. */
  mayBeRevoked(owner: string): void {
    for (const grant of this.#grants) {
      if (grant.owner === owner) grant.mayBeRevoked = true;
    }
  }

  revoke(grant: number): void {
    const known = this.#grants[grant];
    if (known === undefined) return;
    known.isDead = true;
    known.revokedAt = Math.min(known.revokedAt, this.now());
  }

  /** Reports whether a grant was revoked before an event. */
  wasRevoked(grant: number, event: number): boolean {
    return (this.#grants[grant]?.revokedAt ?? Infinity) < event;
  }

  /** Returns the grant of an owner that the gateway has stored last. */
  latestOf(owner: string): Grant | undefined {
    return this.#kept.get(owner);
  }
}
