import { createHash } from "node:crypto";
import { parseDuration } from "../../api/schema/duration.ts";
import type { KeyObject } from "../../policy/keys/key_objects.ts";
import type { KeyringTable } from "./keyring_table.ts";

/** A user who is logged in. Only issuer and subject together name one. */
export interface KeyOwner {
  readonly issuer: string;
  readonly subject: string;
  /** For people. */
  readonly name: string;
  /** ID of the team that the user has now. */
  readonly team: string;
}

/** Reason why a command of a user has changed nothing. */
export interface OwnKeysProblem {
  readonly result:
    | "rejected"
    | "denied"
    | "missing"
    | "unavailable"
    | "no store";
  readonly problem: string;
}

/** Keys that a user can make in a day: revoked ones take memory for 90 days. */
const MAX_PER_DAY = 20;
const DAY_MS = 86_400_000;

/** Returns why a user may not make a key; `undefined` if it is allowed. */
export function denialOf(
  table: KeyringTable,
  owner: KeyOwner,
  { lifetimeMs, now }: {
    readonly lifetimeMs: number;
    readonly now: number;
  },
): OwnKeysProblem | undefined {
  const team = table.find("team", owner.team);
  const user = table.find("user", userIdOf(owner));
  if (table.isFull) return denied("there is no room for more keys");
  if (team === undefined) return denied("your team does not exist");
  if (team.status !== undefined) return denied(`your team is ${team.status}`);
  if (user?.status !== undefined) return denied(`you are ${user.status}`);
  const { selfService } = team;
  if (selfService === undefined) {
    return denied("your team does not let its users make keys");
  }
  const { maxKeys, maxLifetime } = selfService;
  if (lifetimeMs > parseDuration(maxLifetime)) {
    return denied(`a key of your team lives for at most ${maxLifetime}`);
  }
  const keys = [...keysOf(table, owner)];
  const count =
    keys.filter((key) => key.team === owner.team && isAlive(key, now)).length;
  if (count >= maxKeys) {
    return denied(`you have ${count} keys of ${maxKeys}: revoke one first`);
  }
  const today = keys.filter(({ createdAt }) => createdAt > now - DAY_MS);
  return today.length < MAX_PER_DAY
    ? undefined
    : denied(`you have made ${MAX_PER_DAY} keys within a day`);
}

/** A key that is suspended counts: it may be resumed. */
export function isAlive(
  { status, expiresAt = "" }: KeyObject,
  now: number,
): boolean {
  return status !== "revoked" && !(Date.parse(expiresAt) <= now);
}

/** Lists the keys that a user has made, of all teams, revoked ones too. */
export function* keysOf(
  table: KeyringTable,
  owner: KeyOwner,
): Generator<KeyObject> {
  const prefix = keyPrefixOf(owner);
  for (const key of table.list("key", prefix)) {
    if (!key.id.startsWith(prefix)) return;
    if (key.user === userIdOf(owner)) yield key;
  }
}

/** Returns the ID of the user in the store: it never changes, and reveals no name. */
export function userIdOf(owner: KeyOwner): string {
  return `user_${digestOf(owner)}`;
}

/** Begins the IDs of the keys that a user makes: finding them takes no look at others. */
export function keyPrefixOf(owner: KeyOwner): string {
  return `key_${digestOf(owner)}_`;
}

function digestOf({ issuer, subject }: KeyOwner): string {
  return createHash("sha256").update(JSON.stringify([issuer, subject]))
    .digest("hex").slice(0, 32);
}

function denied(problem: string): OwnKeysProblem {
  return { result: "denied", problem };
}
