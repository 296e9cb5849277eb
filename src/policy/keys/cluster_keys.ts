import { positiveDuration } from "../../api/schema/duration.ts";
import { objectName } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";
import { keyObjectSchemas } from "./key_objects.ts";

const { allow, budgets, metadata, selfService } = keyObjectSchemas.team.entries;
const { expiresAt } = keyObjectSchemas.key.entries;

const common = {
  allow: s.field(
    "Restrictions; what is not set is not restricted. Routes are those of the namespace.",
    allow,
  ),
  budgets: s.field("Budgets, which all apply.", budgets),
  metadata: s.field("Members of `apiKey` in expressions.", metadata),
  suspended: s.field(
    "Rejects all requests until it is removed.",
    s.optional(s.boolean()),
  ),
};
const team = s.field(
  "Name of a `GatewayTeam` of the namespace.",
  s.optional(objectName),
);

/** Schemas of the keys, users and teams that are objects of a cluster. */
export const clusterKeySchemas = {
  GatewayTeam: s.object({
    spec: s.object({
      ...common,
      selfService: s.field(
        "Lets users of the team make keys for themselves; without it, they cannot.",
        selfService,
      ),
    }),
  }),
  GatewayUser: s.object({ spec: s.object({ ...common, team }) }),
  GatewayKey: s.object({
    spec: s.object({
      ...common,
      team,
      user: s.field(
        "Name of a `GatewayUser` of the namespace.",
        s.optional(objectName),
      ),
      expiresAt: s.field(
        "Time such as `2027-01-31T00:00:00Z` from which the key is rejected.",
        expiresAt,
      ),
      secretName: s.field(
        "Secret with the key; default: that with the name of the `GatewayKey`. Without one, the gateway generates a key.",
        s.optional(objectName),
      ),
      overlap: s.field(
        "Time that the key before is valid after another has taken its place in the Secret; by default, it is rejected at once.",
        s.optional(positiveDuration),
      ),
    }),
  }),
} as const;

/** Kinds of keys, users and teams in a cluster. */
export type ClusterKeyKind = keyof typeof clusterKeySchemas;
