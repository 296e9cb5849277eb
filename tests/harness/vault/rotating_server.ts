import { tokenError } from "../../../src/identity/backend_tokens/token_error.ts";

/** A grant of an authorization server. */
interface Grant {
  readonly owner: string;
  /** Number of the refresh token that is valid. */
  current: number;
  isDead: boolean;
  /** A revocation has begun. */
  mayBeRevoked: boolean;
  /** The gateway has written the refresh token that is valid. */
  isWritten: boolean;
}

/** An authorization server that rotates refresh tokens, and ends a grant of which one is used twice (RFC 9700 section 4.14.2). */
export class RotatingServer {
  /** It cannot be reached. */
  isAway = false;
  readonly #grants: Grant[] = [];
  readonly #kept = new Map<string, Grant>();

  /** Begins a grant; returns its number. Those that the owner had stay valid. */
  grant(owner: string): number {
    return this.#grants.push({
      owner,
      current: 0,
      isDead: false,
      mayBeRevoked: false,
      isWritten: false,
    }) - 1;
  }

  /** Redeems a refresh token; `undefined` is `invalid_grant`. @throws {GatewayError} When it cannot be reached. */
  refresh(grant: number, token: number): number | undefined {
    if (this.isAway) throw unavailable();
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
    if (known !== undefined) known.isDead = true;
  }

  /** Returns the grant of an owner that the gateway has stored last. */
  latestOf(owner: string): Grant | undefined {
    return this.#kept.get(owner);
  }
}

/** Returns the error of a server that does not respond. */
export function unavailable() {
  const backend = { backend: "default/model" };
  return tokenError("credentials_unavailable", backend, "it is away");
}
