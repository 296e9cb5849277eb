import { isDeepStrictEqual } from "node:util";
import { parseDuration } from "../../api/schema/duration.ts";
import type * as s from "../../api/schema/schema.ts";
import { validate } from "../../api/schema/validate.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  type ClusterKeyKind,
  clusterKeySchemas,
} from "../../policy/keys/cluster_keys.ts";
import type {
  KeyAllow,
  KeyObject,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import {
  checkFields,
  describeProblems,
  findMissingOwner,
  replaceSecret,
} from "./key_object_fields.ts";
import type { KeyObjectChange, KeyObjectDraft } from "./key_object_store.ts";
import { type Keyring, revoke } from "./keyring.ts";
import type { KeyringTable } from "./keyring_table.ts";

/** A key, a user or a team as an object of a cluster declares it. */
export interface DeclaredKeyObject {
  readonly kind: ClusterKeyKind;
  readonly namespace: string;
  readonly name: string;
  /** As somebody wrote it. */
  readonly spec: JsonObject;
  /** SHA-256 of the key in base64url, and its first characters. */
  readonly secret?: { readonly hash: string; readonly prefix: string };
  /** It is of the administrator: its keys are for routes of all namespaces. */
  readonly isForAllRoutes: boolean;
}

type Spec = s.Infer<typeof clusterKeySchemas["GatewayKey"]>["spec"];

/** Returns the ID of an object of a cluster; a namespace has no dot. */
function declaredId(namespace: string, name: string): string {
  return `${namespace}.${name}`.toLowerCase();
}

/** Writes what an object of a cluster declares, unless the store has it already. Rejects when the store fails. */
export async function declareObject(
  keyring: Keyring,
  kind: KeyObjectKind,
  object: DeclaredKeyObject,
  now: number,
): Promise<KeyObjectChange> {
  const checked = validate(clusterKeySchemas[object.kind], {
    spec: object.spec,
  });
  if (!checked.ok) return { problem: describeProblems(checked.problems) };
  const spec: Spec = checked.value.spec;
  const foreign = object.isForAllRoutes
    ? undefined
    : spec.allow?.routes?.find((route) => route.includes("/"));
  if (foreign !== undefined) {
    return {
      problem:
        `spec.allow.routes: expected names of routes of this namespace, got "${foreign}"`,
    };
  }
  const id = declaredId(object.namespace, object.name);
  const fields = checkFields(kind, fieldsOf(object, spec, id));
  if ("problem" in fields) return fields;
  const table = await keyring.table();
  const problem = findMissingOwner(fields.fields, table) ??
    findOtherOwner(object, id, table);
  if (problem !== undefined) return { problem };
  const next = (known: KeyObject | undefined) =>
    draftOf({ ...fields.fields, kind, id }, { object, spec, known, now });
  const known = table.find(kind, id);
  const draft = next(known);
  if (known !== undefined && !("problem" in draft) && isSame(known, draft)) {
    return { object: known };
  }
  if (known === undefined && table.isFull) {
    return { problem: "there is no room for more objects" };
  }
  return await keyring.change(kind, id, next);
}

/** Revokes the objects of a kind that a cluster declared, but those with an ID of `keep`. Rejects when the store fails. */
export async function pruneDeclared(
  keyring: Keyring,
  kind: KeyObjectKind,
  keep: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const table = await keyring.table();
  const superfluous = table.list(kind).filter(({ id, origin, status }) =>
    origin !== undefined && status !== "revoked" && !keep.has(id)
  ).toArray();
  for (const { id } of superfluous) {
    await keyring.change(
      kind,
      id,
      (object) =>
        object?.origin === undefined
          ? { problem: "no object of the cluster made it" }
          : revoke(object, now),
    );
  }
}

function fieldsOf(
  { namespace, name, isForAllRoutes }: DeclaredKeyObject,
  {
    team,
    user,
    allow,
    suspended: _,
    secretName: _name,
    overlap: _time,
    ...rest
  }: Spec,
  id: string,
): JsonObject {
  const nameIn = (owner: string | undefined) =>
    owner === undefined ? undefined : declaredId(namespace, owner);
  const fields = {
    ...rest,
    id,
    name,
    team: nameIn(team),
    user: nameIn(user),
    allow: isForAllRoutes ? allow : inNamespace(allow, namespace),
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
}

/** Restricts to the routes of a namespace. */
function inNamespace(
  allow: KeyAllow | undefined,
  namespace: string,
): KeyAllow {
  const { routes = ["*"] } = allow ?? {};
  return {
    ...allow,
    routes: routes.map((route) => `${namespace}/${route}`),
  };
}

/** Two keys with one secret would take each other's place. */
function findOtherOwner(
  { secret }: DeclaredKeyObject,
  id: string,
  table: KeyringTable,
): string | undefined {
  const owner = secret && table.ownerOf(secret.hash);
  return owner === undefined || owner === id
    ? undefined
    : "another key has the same secret";
}

function draftOf(
  fields: Pick<KeyObjectDraft, "kind" | "id">,
  { object, spec: { suspended = false, overlap }, known, now }: {
    readonly object: DeclaredKeyObject;
    readonly spec: Spec;
    readonly known: KeyObject | undefined;
    readonly now: number;
  },
): KeyObjectDraft | { readonly problem: string } {
  const { kind, namespace, name, secret } = object;
  if (known !== undefined && known.origin === undefined) {
    return {
      problem:
        `${fields.id} exists already, and no object of the cluster made it`,
    };
  }
  const until = now + (overlap === undefined ? 0 : parseDuration(overlap));
  const isCurrent = known?.secrets?.at(-1)?.hash === secret?.hash;
  const secrets = secret === undefined || isCurrent
    ? known?.secrets
    : replaceSecret(known?.secrets, { ...secret, createdAt: now }, {
      until,
      now,
    });
  return {
    ...fields,
    origin: `${kind} ${namespace}/${name}`,
    createdAt: known?.createdAt ?? now,
    changedAt: now,
    ...suspended && { status: "suspended" },
    ...secrets !== undefined && { secrets },
  };
}

function isSame(known: KeyObject, draft: KeyObjectDraft): boolean {
  const { sequence: _, changedAt, ...before } = known;
  return isDeepStrictEqual(
    JSON.parse(JSON.stringify({ ...draft, changedAt })),
    JSON.parse(JSON.stringify({ ...before, changedAt })),
  );
}
