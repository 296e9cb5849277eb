import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type {
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import type { KeyObjectDraft } from "./key_object_store.ts";
import {
  type DeclaredKeyObject,
  declareObject,
  pruneDeclared,
} from "./declared_keys.ts";
import {
  checkFields,
  createId,
  createSecret,
  fieldsOf,
  findMissingOwner,
  givenSecret,
  replaceSecret,
} from "./key_object_fields.ts";
import { type Keyring, revoke } from "./keyring.ts";
import {
  type KeyObjectView,
  type KeySelection,
  selectObjects,
  viewOf,
} from "./keyring_views.ts";

/** A command of the administrator about keys, users or teams. */
export type KeyringCommand =
  & { readonly kind: KeyObjectKind }
  & (
    | { readonly do: "list"; readonly selection: KeySelection }
    | { readonly do: "show"; readonly id: string }
    /** @param fields As somebody wrote them; `keyHash` is that of a key which exists, as in the file. */
    | { readonly do: "create"; readonly fields: JsonObject }
    /** Replaces the fields that are given; `null` removes one. */
    | {
      readonly do: "update";
      readonly id: string;
      readonly fields: JsonObject;
    }
    | { readonly do: "suspend" | "resume" | "revoke"; readonly id: string }
    /** The keys before it are valid for a while. */
    | { readonly do: "rotate"; readonly id: string; readonly overlapMs: number }
    /** Makes the store have what an object of a cluster says. */
    | { readonly do: "declare"; readonly object: DeclaredKeyObject }
    /** Revokes what was made of objects of a cluster, but these. */
    | { readonly do: "prune"; readonly keep: readonly string[] }
  );

/** Result of a command. */
export type KeyringAnswer =
  | {
    readonly result: "found";
    readonly objects: readonly KeyObjectView[];
    /** There are more: those after the last one. */
    readonly hasMore?: boolean;
  }
  | {
    readonly result: "changed";
    readonly object: KeyObjectView;
    /** A new key, which nobody can read again. */
    readonly secret?: string;
  }
  | {
    readonly result: "rejected" | "missing" | "unavailable" | "no store";
    readonly problem: string;
  };

/** Lists or changes keys, users and teams; never rejects. */
export async function runKeyringCommand(
  keyring: Keyring | undefined,
  command: KeyringCommand,
  clock: Pick<Clock, "now">,
): Promise<KeyringAnswer> {
  return await withKeyring(
    keyring,
    (store) => run(store, command, clock.now()),
  );
}

/** Runs a command on the store of the keys; returns the problem if there is none, or if it cannot be used. */
export async function withKeyring<Answer>(
  keyring: Keyring | undefined,
  command: (keyring: Keyring) => Promise<Answer>,
): Promise<
  Answer | {
    readonly result: "no store" | "unavailable";
    readonly problem: string;
  }
> {
  if (keyring === undefined) {
    return {
      result: "no store",
      problem:
        '"config.kv" is not set: keys need a store, such as {path: keys.db}; set it, and restart the gateway',
    };
  }
  try {
    return await command(keyring);
  } catch (error) {
    const problem = `Cannot use the store of the keys: ${describeError(error)}`;
    return { result: "unavailable", problem };
  }
}

async function run(
  keyring: Keyring,
  command: KeyringCommand,
  now: number,
): Promise<KeyringAnswer> {
  const { kind } = command;
  switch (command.do) {
    case "list": {
      const table = await keyring.table();
      const found = await selectObjects(table, kind, command.selection, now);
      return { result: "found", ...found };
    }
    case "show": {
      const object = (await keyring.table()).find(kind, command.id);
      return object === undefined
        ? missing(kind, command.id)
        : { result: "found", objects: [viewOf(object, now)] };
    }
    case "create":
      return await create(keyring, kind, command.fields, now);
    case "update":
      return await update(keyring, command, now);
    case "rotate":
      return await rotate(keyring, command, now);
    case "declare":
      return answerOf(
        await declareObject(keyring, kind, command.object, now),
        now,
      );
    case "prune":
      await pruneDeclared(keyring, kind, new Set(command.keep), now);
      return { result: "found", objects: [] };
    default:
      return await setStatus(keyring, command, now);
  }
}

async function create(
  keyring: Keyring,
  kind: KeyObjectKind,
  fields: JsonObject,
  now: number,
): Promise<KeyringAnswer> {
  const { keyHash, ...rest } = fields;
  const checked = checkFields(kind, rest);
  if ("problem" in checked) return rejected(checked.problem);
  const table = await keyring.table();
  if (table.isFull) return rejected("there is no room for more objects");
  const problem = findMissingOwner(checked.fields, table);
  if (problem !== undefined) return rejected(problem);
  const { id = kind === "key" ? createId() : undefined } = checked.fields;
  if (id === undefined) return rejected('"id" is required');
  const made = kind !== "key"
    ? undefined
    : keyHash === undefined
    ? createSecret(now)
    : givenSecret(keyHash, table, now);
  if (made !== undefined && "problem" in made) return rejected(made.problem);
  const draft: KeyObjectDraft = {
    kind,
    ...checked.fields,
    id,
    createdAt: now,
    changedAt: now,
    ...made && { secrets: [made.stored] },
  };
  const change = await keyring.change(
    kind,
    id,
    (object) =>
      object === undefined
        ? draft
        : { problem: `the ${kind} "${id}" exists already` },
  );
  if ("problem" in change) return rejected(change.problem);
  return changed(change.object, now, made?.secret);
}

async function update(
  keyring: Keyring,
  { kind, id, fields }: KeyringCommand & { readonly do: "update" },
  now: number,
): Promise<KeyringAnswer> {
  const table = await keyring.table();
  return await edit(keyring, { kind, id, now }, (object) => {
    const merged = Object.entries({ ...fieldsOf(object), ...fields })
      .filter(([, value]) => value !== null);
    const checked = checkFields(kind, Object.fromEntries(merged));
    if ("problem" in checked) return checked;
    if (checked.fields.id !== id) return { problem: '"id" never changes' };
    const problem = findMissingOwner(checked.fields, table);
    if (problem !== undefined) return { problem };
    const { createdAt, status, secrets } = object;
    return {
      kind,
      ...checked.fields,
      id,
      createdAt,
      changedAt: now,
      ...status && { status },
      ...secrets && { secrets },
    };
  });
}

async function rotate(
  keyring: Keyring,
  { kind, id, overlapMs }: KeyringCommand & { readonly do: "rotate" },
  now: number,
): Promise<KeyringAnswer> {
  const { secret, stored } = createSecret(now);
  const until = now + overlapMs;
  const answer = await edit(keyring, { kind, id, now }, (object) => ({
    ...object,
    changedAt: now,
    secrets: replaceSecret(object.secrets, stored, { until, now }),
  }));
  return answer.result === "changed" ? { ...answer, secret } : answer;
}

function setStatus(
  keyring: Keyring,
  command: KeyringCommand & { readonly do: "suspend" | "resume" | "revoke" },
  now: number,
): Promise<KeyringAnswer> {
  const { kind, id } = command;
  return edit(keyring, { kind, id, now }, (object) => {
    if (command.do === "revoke") return revoke(object, now);
    const { status: _, ...active } = object;
    return command.do === "resume"
      ? { ...active, changedAt: now }
      : { ...object, status: "suspended", changedAt: now };
  });
}

/** Edits an object that exists and is not revoked. */
async function edit(
  keyring: Keyring,
  { kind, id, now }: {
    readonly kind: KeyObjectKind;
    readonly id: string;
    readonly now: number;
  },
  next: (object: KeyObject) => KeyObjectDraft | { readonly problem: string },
): Promise<KeyringAnswer> {
  let isMissing = false;
  const change = await keyring.change(kind, id, (object) => {
    isMissing = object === undefined;
    if (object === undefined) return { problem: "" };
    if (object.origin !== undefined) {
      return { problem: `change it in the cluster: it is ${object.origin}` };
    }
    return object.status === "revoked"
      ? { problem: `the ${kind} "${id}" is revoked, for good` }
      : next(object);
  });
  if (isMissing) return missing(kind, id);
  return "problem" in change
    ? rejected(change.problem)
    : changed(change.object, now);
}

function changed(
  object: KeyObject,
  now: number,
  secret?: string,
): KeyringAnswer {
  return {
    result: "changed",
    object: viewOf(object, now),
    ...secret !== undefined && { secret },
  };
}

function rejected(problem: string): KeyringAnswer {
  return { result: "rejected", problem };
}

function missing(kind: KeyObjectKind, id: string): KeyringAnswer {
  return { result: "missing", problem: `the ${kind} "${id}" does not exist` };
}

function answerOf(
  change: Awaited<ReturnType<typeof declareObject>>,
  now: number,
): KeyringAnswer {
  return "problem" in change
    ? rejected(change.problem)
    : changed(change.object, now);
}
