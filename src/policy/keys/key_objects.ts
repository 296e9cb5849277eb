import { positiveDuration } from "../../api/schema/duration.ts";
import * as s from "../../api/schema/schema.ts";
import { isDeeperThan } from "../../base/json.ts";
import { parseIpAddress, parseIpRange } from "../../base/wire/ip_address.ts";
import { storedBudgetSchema } from "../rate_limit/budget_schema.ts";

/** Kinds of objects that live in the store of `config.kv`. */
export const keyObjectKinds = ["key", "user", "team"] as const;

/** Kind of an object: a key, or whom it belongs to. */
export type KeyObjectKind = typeof keyObjectKinds[number];

/** Longest JSON of the metadata of an object. */
const MAX_METADATA = 4096;
const MAX_METADATA_DEPTH = 8;

/** Members of `apiKey` in expressions that metadata cannot set. */
const reservedMembers = [
  "id",
  "name",
  "team",
  "user",
  "models",
] as const;

const id = s.pattern(
  /^[a-z0-9][a-z0-9_.-]*$/,
  "an ID of lower-case letters, digits, -, _ and .",
  63,
);
const allowed = s.list(
  s.checkedText(
    (text) => /^[^\p{C}*]*\*?$/u.test(text) && text !== "" && text.length < 257,
    'a name of at most 256 characters, or the beginning of names followed by "*"',
  ),
  { max: 128 },
);
const addresses = s.list(
  s.checkedText(
    (text) =>
      parseIpAddress(text) !== undefined || parseIpRange(text) !== undefined,
    "an IP address or a range such as 10.0.0.0/8",
  ),
  { max: 128 },
);
const allow = s.object({
  models: s.optional(allowed),
  mcpServers: s.optional(allowed),
  tools: s.optional(allowed),
  addresses: s.optional(addresses),
  routes: s.optional(allowed),
});
const metadata = s.refine(
  s.map(s.string(), s.unknown()),
  s.rule(
    (value) => !isDeeperThan(value, MAX_METADATA_DEPTH),
    `expected at most ${MAX_METADATA_DEPTH} levels`,
  ),
  s.rule(
    (value) => JSON.stringify(value).length <= MAX_METADATA,
    `expected at most ${MAX_METADATA} characters of JSON`,
  ),
  s.rule<Readonly<Record<string, unknown>>>(
    (value) => reservedMembers.every((name) => !Object.hasOwn(value, name)),
    `expected none of ${
      reservedMembers.join(", ")
    }: the gateway sets them itself`,
  ),
);
const budgets = s.list(storedBudgetSchema, { max: 8 });
const selfService = s.object({
  maxKeys: s.field(
    "Keys of a user in the team that are neither revoked nor expired.",
    s.integer(1, 100),
  ),
  maxLifetime: s.field("Longest lifetime of such a key.", positiveDuration),
  budgets: s.field(
    "Budgets of each user, over all of their keys in the team.",
    s.optional(budgets),
  ),
});
const common = {
  id: s.optional(id),
  name: s.optional(
    s.checkedText(
      (text) => /^\P{C}{1,128}$/u.test(text),
      "1 to 128 characters without control characters",
    ),
  ),
  metadata: s.optional(metadata),
  allow: s.optional(allow),
  budgets: s.optional(budgets),
};
const time = s.checkedText(
  (text) => /^\d{4}-\d\d-\d\dT/.test(text) && Number.isFinite(Date.parse(text)),
  "a time such as 2027-01-31T00:00:00Z",
);

/** Fields that people set, by kind of object. */
export const keyObjectSchemas = {
  team: s.object({ ...common, selfService: s.optional(selfService) }),
  user: s.object({ ...common, team: s.optional(id) }),
  key: s.object({
    ...common,
    team: s.optional(id),
    user: s.optional(id),
    expiresAt: s.optional(time),
  }),
} as const;

/** Fields that people set of an object; a team has no `team`, only keys expire, and only teams allow self-service. */
export type KeyObjectFields =
  & s.Infer<typeof keyObjectSchemas["key"]>
  & Pick<s.Infer<typeof keyObjectSchemas["team"]>, "selfService">;

/** Restrictions of a key, a user or a team; what is not set is not restricted. */
export type KeyAllow = s.Infer<typeof allow>;

/** A budget of a key, a user or a team. */
export type KeyBudget = s.Infer<typeof storedBudgetSchema>;

const secret = s.openObject({
  /** SHA-256 of the key in base64url, without padding. */
  hash: s.string(),
  /** First characters, for people. */
  prefix: s.string(),
  createdAt: s.number(),
  /** In milliseconds since the epoch, as all times. */
  expiresAt: s.optional(s.number()),
});

/** The keys of an object: the current one, and those that it replaces, until they expire. */
export type KeySecret = s.Infer<typeof secret>;

const storedObjectSchema = s.openObject({
  ...keyObjectSchemas.key.entries,
  ...keyObjectSchemas.team.entries,
  kind: s.oneOf(keyObjectKinds),
  id: s.string(),
  /** Number of the change that wrote it. */
  sequence: s.number(),
  createdAt: s.number(),
  changedAt: s.number(),
  status: s.optional(s.oneOf(["suspended", "revoked"])),
  secrets: s.optional(s.array(secret)),
  /** Object of a cluster that it was made of, such as `GatewayKey blue/ci`: only that changes it. */
  origin: s.optional(s.string()),
});

/** An object as it is in the store; it is active without a `status`. */
export type KeyObject = s.Infer<typeof storedObjectSchema>;

/** Reads a value of the store; `undefined` for one that no gateway wrote. */
export function readKeyObject(value: unknown): KeyObject | undefined {
  const parsed = s.parse(storedObjectSchema, value);
  return parsed.ok ? parsed.value : undefined;
}
