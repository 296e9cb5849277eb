import { nameKey } from "../authentication/request_identity.ts";
import type { Claims } from "../contract/identity.ts";
import type {
  KeyAllow,
  KeyBudget,
  KeyObject,
  KeyObjectKind,
  KeySecret,
} from "./key_objects.ts";

/** A caller with a key from the store: the key, and the user and the team that it belongs to. */
export interface KeyCaller {
  readonly id: string;
  /** Name for people. */
  readonly name: string | undefined;
  readonly user: string | undefined;
  readonly team: string | undefined;
  /** `apiKey` in expressions. */
  readonly metadata: Claims;
  /** Reason why the key cannot be used, such as `is suspended`; `undefined` if it can. */
  readonly problem: string | undefined;
  /** In milliseconds since the epoch; `Infinity` for never. */
  readonly expiresAt: number;
  /** Restrictions of the key, the user and the team; all of them apply. */
  readonly allows: readonly CallerAllow[];
  readonly budgets: readonly CallerBudget[];
}

/** Restrictions, and whose they are. */
export interface CallerAllow {
  readonly kind: KeyObjectKind;
  readonly id: string;
  readonly allow: KeyAllow;
}

/** A budget, and whose it is. */
export interface CallerBudget {
  readonly kind: KeyObjectKind;
  readonly id: string;
  readonly budget: KeyBudget;
}

/** Objects of a caller; those that do not exist are `undefined`. */
export interface CallerObjects {
  readonly key: KeyObject;
  readonly user: KeyObject | undefined;
  readonly team: KeyObject | undefined;
}

/** Returns the team of a key: its own, or that of its user. */
export function teamOf(
  key: KeyObject,
  user: KeyObject | undefined,
): string | undefined {
  return key.team ?? user?.team;
}

/** Creates the caller of a key. @param secret The one that was sent. */
export function createCaller(
  { key, user, team }: CallerObjects,
  secret: Pick<KeySecret, "expiresAt">,
): KeyCaller {
  const objects = [team, user, key].filter((each) => each !== undefined);
  const teamId = teamOf(key, user);
  const models = allowedModels(objects);
  const own = {
    id: key.id,
    name: key.name,
    user: key.user,
    team: teamId,
    models,
  };
  const metadata = {
    ...Object.assign({}, ...objects.map(({ metadata }) => metadata)),
    ...Object.fromEntries(
      Object.entries(own).filter(([, value]) => value !== undefined),
    ),
  };
  nameKey(metadata, key.id);
  return {
    id: key.id,
    name: key.name,
    user: key.user,
    team: teamId,
    metadata,
    problem: problemOf({ key, user, team }, teamId),
    expiresAt: Math.min(
      secret.expiresAt ?? Infinity,
      key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt),
    ),
    allows: objects.flatMap(({ kind, id, allow }) =>
      allow === undefined ? [] : [{ kind, id, allow }]
    ),
    budgets: budgetsOf({ key, user, team }),
  };
}

/** Returns the budgets of the key, of its user, of each user of its team, and of the team. */
function budgetsOf({ key, user, team }: CallerObjects): CallerBudget[] {
  return [...ownBudgets(key), ...budgetsOfUser(user, team)];
}

/** Returns the budgets that all keys of a user have in common. */
export function budgetsOfUser(
  user: KeyObject | undefined,
  team: KeyObject | undefined,
): CallerBudget[] {
  const own = [...ownBudgets(user), ...ownBudgets(team)];
  if (user === undefined) return own;
  const { id, budgets = [] } = user;
  // The same budget twice would count each request twice.
  const ofEachUser = (team?.selfService?.budgets ?? [])
    .filter((budget) => !budgets.some((each) => isSame(each, budget)))
    .map((budget) => ({ kind: "user", id, budget }) as const);
  return [...own, ...ofEachUser];
}

/** Returns the budgets of an object itself. */
export function ownBudgets(object: KeyObject | undefined): CallerBudget[] {
  if (object === undefined) return [];
  const { kind, id, budgets = [] } = object;
  return budgets.map((budget) => ({ kind, id, budget }));
}

function isSame(one: KeyBudget, other: KeyBudget): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the list of the most specific object that has one; the others apply, too. */
function allowedModels(
  objects: readonly KeyObject[],
): readonly string[] | undefined {
  return objects.findLast(({ allow }) => allow?.models !== undefined)?.allow
    ?.models;
}

/** A user or a team that does not exist is a problem: its restrictions are not known. */
function problemOf(
  { key, user, team }: CallerObjects,
  teamId: string | undefined,
): string | undefined {
  if (key.status !== undefined) return `is ${key.status}`;
  const owners = [
    { noun: "user", id: key.user, object: user },
    { noun: "team", id: teamId, object: team },
  ];
  for (const { noun, id, object } of owners) {
    if (id === undefined) continue;
    if (object === undefined) return `belongs to a ${noun} that does not exist`;
    if (object.status !== undefined) {
      return `belongs to a ${noun} that is ${object.status}`;
    }
  }
  return undefined;
}
