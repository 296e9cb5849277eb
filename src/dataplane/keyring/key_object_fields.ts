import { createHash, randomBytes } from "node:crypto";
import {
  formatPath,
  type Problem,
  validate,
} from "../../api/schema/validate.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  type KeyObject,
  type KeyObjectFields,
  type KeyObjectKind,
  keyObjectSchemas,
  type KeySecret,
} from "../../policy/keys/key_objects.ts";
import type { KeyringTable } from "./keyring_table.ts";

/** Keys that are valid at the same time: the current one, and those before it. */
const MAX_SECRETS = 4;
const PREFIX_LENGTH = 10;

/** Validates fields that somebody wrote; `problem` has at most three of what is wrong. */
export function checkFields(
  kind: KeyObjectKind,
  fields: JsonObject,
): { readonly fields: KeyObjectFields } | { readonly problem: string } {
  const checked = validate(keyObjectSchemas[kind], fields);
  if (checked.ok) return { fields: checked.value };
  return { problem: describeProblems(checked.problems) };
}

/** Describes at most three problems. */
export function describeProblems(problems: readonly Problem[]): string {
  return problems.slice(0, 3).map(({ path, message, got }) =>
    `${formatPath(path)}: ${message}${got === undefined ? "" : `, got ${got}`}`
  ).join("; ");
}

/** Returns the fields that people set. */
export function fieldsOf({
  kind: _kind,
  sequence: _sequence,
  createdAt: _createdAt,
  changedAt: _changedAt,
  status: _status,
  secrets: _secrets,
  origin: _origin,
  ...fields
}: KeyObject): KeyObjectFields {
  return fields;
}

/** Returns a problem if the team or the user of an object cannot have it. */
export function findMissingOwner(
  { team, user }: KeyObjectFields,
  table: Pick<KeyringTable, "find">,
): string | undefined {
  for (const [kind, id] of [["team", team], ["user", user]] as const) {
    if (id === undefined) continue;
    const owner = table.find(kind, id);
    if (owner === undefined) return `the ${kind} "${id}" does not exist`;
    if (owner.status === "revoked") return `the ${kind} "${id}" is revoked`;
  }
  return undefined;
}

/** Creates a key of 256 random bits: a hash of them needs no salt. */
export function createSecret(
  now: number,
): { readonly secret: string; readonly stored: KeySecret } {
  const secret = `gk_${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(secret).digest("base64url");
  const prefix = secret.slice(0, PREFIX_LENGTH);
  return { secret, stored: { hash, prefix, createdAt: now } };
}

/** Creates the ID of a key. */
export function createId(): string {
  return `key_${randomBytes(8).toString("hex")}`;
}

/** Returns the record of a key that exists, by its hash as in a configuration; a problem if it is none, or that of another key. */
export function givenSecret(
  keyHash: unknown,
  table: Pick<KeyringTable, "ownerOf">,
  now: number,
):
  | { readonly secret?: undefined; readonly stored: KeySecret }
  | { readonly problem: string } {
  const [, digest] = /^sha256:([0-9a-f]{64})$/.exec(String(keyHash)) ?? [];
  if (digest === undefined) {
    return {
      problem: 'keyHash: expected "sha256:" and 64 hexadecimal digits',
    };
  }
  const hash = Uint8Array.fromHex(digest).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
  return table.ownerOf(hash) === undefined
    ? { stored: { hash, prefix: "", createdAt: now } }
    : { problem: "another key has the same secret" };
}

/** Returns the keys of an object with a new one; those before it are valid until `until`. */
export function replaceSecret(
  secrets: KeyObject["secrets"],
  next: KeySecret,
  { until, now }: { readonly until: number; readonly now: number },
): readonly KeySecret[] {
  const before = (secrets ?? []).map((each) => ({
    ...each,
    expiresAt: Math.min(each.expiresAt ?? until, until),
  })).filter(({ expiresAt }) => expiresAt > now);
  return [...before.slice(1 - MAX_SECRETS), next];
}
