import { formatTime } from "../../base/log/log_text.ts";
import { yieldToEventLoop } from "../../base/slices.ts";
import type {
  KeyObject,
  KeyObjectFields,
  KeyObjectKind,
} from "../../policy/keys/key_objects.ts";
import { idOfText, type KeyringTable } from "./keyring_table.ts";

export {
  type KeyObjectKind,
  keyObjectKinds,
} from "../../policy/keys/key_objects.ts";

/** Statuses that a list can be restricted to. */
export const keyStatuses = [
  "active",
  "suspended",
  "revoked",
  "expired",
] as const;

/** An object as people see it: without hashes of keys. */
export interface KeyObjectView extends KeyObjectFields {
  readonly kind: KeyObjectKind;
  readonly id: string;
  readonly status: typeof keyStatuses[number];
  /** RFC 3339, as all times. */
  readonly createdAt: string;
  readonly changedAt: string;
  /** Beginnings of the keys that are valid: the current one last. */
  readonly keys?: readonly {
    readonly prefix: string;
    readonly createdAt: string;
    readonly expiresAt?: string;
  }[];
}

/** Selects objects; what is not set selects all. */
export interface KeySelection {
  readonly team?: string | undefined;
  readonly user?: string | undefined;
  readonly status?: typeof keyStatuses[number] | undefined;
  /** Only those whose ID, name, team, user or beginning of a key contains it, in any case. */
  readonly text?: string | undefined;
  /** Only those with an ID after this one. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Search texts that are read before others may run. */
const SLICE = 20_000;
/** Search texts that take as long to read as an object. */
const TEXTS_PER_OBJECT = 20;

/** Returns the view of an object. */
export function viewOf(
  { sequence: _, secrets, createdAt, changedAt, ...object }: KeyObject,
  now: number,
): KeyObjectView {
  const keys = secrets?.filter(({ expiresAt = Infinity }) => expiresAt > now);
  return {
    ...object,
    status: statusOf(object, now),
    createdAt: formatTime(createdAt),
    changedAt: formatTime(changedAt),
    ...keys && {
      keys: keys.map(({ prefix, createdAt, expiresAt }) => ({
        prefix,
        createdAt: formatTime(createdAt),
        ...expiresAt !== undefined && { expiresAt: formatTime(expiresAt) },
      })),
    },
  };
}

/** Lists objects by their IDs. */
export async function selectObjects(
  table: KeyringTable,
  kind: KeyObjectKind,
  { team, user, status, text = "", after = "", limit }: KeySelection,
  now: number,
): Promise<
  { readonly objects: readonly KeyObjectView[]; readonly hasMore: boolean }
> {
  const found: KeyObject[] = [];
  let work = 0;
  const parts = [
    text,
    ...[team, user].flatMap((owner) =>
      owner === undefined ? [] : `\n${owner}\n`
    ),
  ].map((part) => part.toLowerCase());
  for (const line of table.texts(kind, after)) {
    const isCandidate = parts.every((part) => line.includes(part));
    work += isCandidate ? TEXTS_PER_OBJECT : 1;
    if (work >= SLICE) {
      await yieldToEventLoop();
      work = 0;
    }
    const object = isCandidate ? table.find(kind, idOfText(line)) : undefined;
    const isSelected = object !== undefined &&
      (team === undefined || object.team === team) &&
      (user === undefined || object.user === user) &&
      (status === undefined || statusOf(object, now) === status);
    if (isSelected) found.push(object);
    if (found.length > limit) break;
  }
  return {
    objects: found.slice(0, limit).map((object) => viewOf(object, now)),
    hasMore: found.length > limit,
  };
}

function statusOf(
  { status, expiresAt }: Pick<KeyObject, "status" | "expiresAt">,
  now: number,
): KeyObjectView["status"] {
  if (status !== undefined) return status;
  return expiresAt !== undefined && Date.parse(expiresAt) <= now
    ? "expired"
    : "active";
}
