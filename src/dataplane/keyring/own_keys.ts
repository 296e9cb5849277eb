import { randomBytes } from "node:crypto";
import { parseDuration, positiveDuration } from "../../api/schema/duration.ts";
import * as s from "../../api/schema/schema.ts";
import { validate } from "../../api/schema/validate.ts";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  type KeyObject,
  type KeyObjectFields,
  keyObjectSchemas,
} from "../../policy/keys/key_objects.ts";
import { budgetsOfUser, ownBudgets } from "../../policy/keys/key_caller.ts";
import { describeAmount } from "../../policy/rate_limit/rate_limit_budget.ts";
import {
  checkFields,
  createSecret,
  describeProblems,
} from "./key_object_fields.ts";
import type { KeyObjectDraft } from "./key_object_store.ts";
import {
  denialOf,
  isAlive,
  type KeyOwner,
  keyPrefixOf,
  keysOf,
  type OwnKeysProblem,
  userIdOf,
} from "./key_owner.ts";
import { type Keyring, revoke } from "./keyring.ts";
import { withKeyring } from "./keyring_commands.ts";
import type { KeyringTable } from "./keyring_table.ts";
import { type KeyObjectView, viewOf } from "./keyring_views.ts";

/** A command of a user about the keys that this user has made. */
export type OwnKeysCommand =
  & { readonly owner: KeyOwner }
  & (
    | { readonly do: "list" }
    /** @param fields As somebody wrote them: `name`, `models`, `lifetime` and `budgets`, all optional. */
    | { readonly do: "create"; readonly fields: JsonObject }
    | { readonly do: "revoke"; readonly id: string }
  );

/** Rules of the team of a user. */
export interface OwnTeam {
  readonly id: string;
  /** Limits of the keys that a user makes; `undefined` if users make none. */
  readonly selfService: KeyObjectFields["selfService"];
  /** Models that the team may use; `undefined` for all that the routes have. */
  readonly models: readonly string[] | undefined;
}

/** A budget of a user, of a key or of the team. */
export interface OwnBudget {
  /** Such as `team blue`. */
  readonly owner: string;
  /** Such as `500 USD per month`. */
  readonly amount: string;
}

/** Result of a command. */
export type OwnKeysAnswer =
  | {
    readonly result: "found";
    /** ID of the user in the store, in usage and in budgets. */
    readonly user: string;
    readonly team: OwnTeam;
    /** Those that are not revoked. */
    readonly keys: readonly KeyObjectView[];
    /** All budgets that concern the user, used or not. */
    readonly budgets: readonly OwnBudget[];
  }
  | {
    readonly result: "changed";
    readonly object: KeyObjectView;
    /** A new key, which nobody can read again. */
    readonly secret?: string;
  }
  | OwnKeysProblem;

/** Other processes may change keys at the same time. */
const MAX_ATTEMPTS = 10;

const wishes = s.object({
  name: keyObjectSchemas.key.entries.name,
  models: s.optional(s.list(s.text(256), { max: 128 })),
  lifetime: s.optional(positiveDuration),
  budgets: keyObjectSchemas.key.entries.budgets,
});

/** Lists, makes or revokes keys of a user, as far as the team allows it; never rejects. */
export async function runOwnKeysCommand(
  keyring: Keyring | undefined,
  command: OwnKeysCommand,
  clock: Pick<Clock, "now">,
): Promise<OwnKeysAnswer> {
  return await withKeyring(
    keyring,
    (store) => run(store, command, clock.now()),
  );
}

async function run(
  keyring: Keyring,
  command: OwnKeysCommand,
  now: number,
): Promise<OwnKeysAnswer> {
  const { owner } = command;
  switch (command.do) {
    case "list":
      return list(await keyring.table(), owner, now);
    case "create":
      return await create(keyring, owner, command.fields, now);
    case "revoke":
      return await revokeOwn(keyring, owner, command.id, now);
  }
}

function list(table: KeyringTable, owner: KeyOwner, now: number) {
  const team = table.find("team", owner.team);
  const keys = [...keysOf(table, owner)].filter(({ status }) =>
    status !== "revoked"
  );
  return {
    result: "found",
    user: userIdOf(owner),
    team: {
      id: owner.team,
      selfService: team?.status === undefined ? team?.selfService : undefined,
      models: team?.allow?.models,
    },
    keys: keys.map((key) => viewOf(key, now)),
    budgets: [
      ...keys.flatMap(ownBudgets),
      ...budgetsOfUser(table.find("user", userIdOf(owner)), team),
    ].map(({ kind, id, budget }) => ({
      owner: `${kind} ${id}`,
      amount: describeAmount({ ...budget, entries: [] }),
    })),
  } as const;
}

async function create(
  keyring: Keyring,
  owner: KeyOwner,
  fields: JsonObject,
  now: number,
): Promise<OwnKeysAnswer> {
  const parsed = validate(wishes, fields);
  if (!parsed.ok) return rejected(describeProblems(parsed.problems));
  const { name, models, lifetime, budgets } = parsed.value;
  const table = await keyring.table();
  const maxLifetime = table.find("team", owner.team)?.selfService?.maxLifetime;
  const lifetimeMs = parseDuration(lifetime ?? maxLifetime ?? "0s");
  const denial = denialOf(table, owner, { lifetimeMs, now });
  if (denial !== undefined) return denial;
  const checked = checkFields("key", {
    ...name !== undefined && { name },
    ...models !== undefined && { allow: { models } },
    ...budgets !== undefined && { budgets },
    user: userIdOf(owner),
    team: owner.team,
    expiresAt: new Date(now + lifetimeMs).toISOString(),
  });
  if ("problem" in checked) return rejected(checked.problem);
  if (budgets?.some(({ notifyAt }) => notifyAt !== undefined)) {
    return rejected("budgets: only administrators are notified");
  }
  const problem = await ensureUser(keyring, owner, now);
  if (problem !== undefined) return rejected(problem);
  await revokeExpired(keyring, table, owner, now);
  const { secret, stored } = createSecret(now);
  const id = keyPrefixOf(owner) + randomBytes(8).toString("hex");
  const made = await insert(keyring, {
    kind: "key",
    ...checked.fields,
    id,
    createdAt: now,
    changedAt: now,
    secrets: [stored],
  }, (all) => denialOf(all, owner, { lifetimeMs, now }));
  return "result" in made
    ? made
    : { result: "changed", object: viewOf(made, now), secret };
}

/**
 * Writes a new key, provided that `deny` has nothing against it when it is written: the limits of a user hold for requests at the same
 * time, too, in all processes.
 */
async function insert(
  keyring: Keyring,
  draft: KeyObjectDraft,
  deny: (all: KeyringTable) => OwnKeysProblem | undefined,
): Promise<KeyObject | OwnKeysProblem> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    let denial: OwnKeysProblem | undefined;
    const change = await keyring.change(draft.kind, draft.id, (_, all) => {
      if (all === undefined) return { problem: "others change keys" };
      denial = deny(all);
      return denial ?? draft;
    });
    if ("object" in change) return change.object;
    if (denial !== undefined) return denial;
    await keyring.refresh();
  }
  return {
    result: "unavailable",
    problem: "too many keys change at the moment; try again",
  };
}

async function revokeOwn(
  keyring: Keyring,
  owner: KeyOwner,
  id: string,
  now: number,
): Promise<OwnKeysAnswer> {
  const missing = {
    result: "missing",
    problem: "you have no such key",
  } as const;
  if (!id.startsWith(keyPrefixOf(owner))) return missing;
  const change = await keyring.change(
    "key",
    id,
    (key) =>
      key?.user === userIdOf(owner) && key.status !== "revoked"
        ? revoke(key, now)
        : missing,
  );
  return "problem" in change
    ? missing
    : { result: "changed", object: viewOf(change.object, now) };
}

/** Creates the user, whose suspension or budgets then concern all of the keys. */
async function ensureUser(
  keyring: Keyring,
  owner: KeyOwner,
  now: number,
): Promise<string | undefined> {
  const id = userIdOf(owner);
  const { issuer, subject } = owner;
  const name = owner.name.replace(/\p{C}/gu, "").slice(0, 64);
  const checked = checkFields("user", {
    id,
    ...name !== "" && { name },
    metadata: { login: { issuer, subject } },
  });
  if ("problem" in checked) return checked.problem;
  const draft = { kind: "user", ...checked.fields, id } as const;
  await keyring.change(
    "user",
    id,
    (known) =>
      known === undefined
        ? { ...draft, createdAt: now, changedAt: now }
        : { problem: "the user exists already" },
  );
  return undefined;
}

/** Lets expired keys be forgotten in time, as revoked ones are. */
async function revokeExpired(
  keyring: Keyring,
  table: KeyringTable,
  owner: KeyOwner,
  now: number,
): Promise<void> {
  const expired = [...keysOf(table, owner)].filter((key) =>
    key.status !== "revoked" && !isAlive(key, now)
  );
  for (const { id } of expired) await revokeOwn(keyring, owner, id, now);
}

function rejected(problem: string): OwnKeysProblem {
  return { result: "rejected", problem };
}
