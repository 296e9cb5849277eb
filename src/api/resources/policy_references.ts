import * as s from "../schema/schema.ts";
import { namespace, port, referenceName } from "../schema/scalars.ts";
import { POLICY_API_GROUP } from "../schema/group.ts";

/** Creates the schema of a reference to an entry of a Secret. @param owner Whose namespace is the default. @param entry Default of `key`. */
export function secretRefSchema(owner: string, entry: string) {
  return s.object({
    name: s.field("Name of the Secret.", referenceName),
    namespace: s.field(
      `Namespace of the Secret; another than the ${owner}'s needs a \`ReferenceGrant\`. Default: that of the ${owner}.`,
      s.optional(namespace),
    ),
    key: s.field("Entry of the Secret.", s.optional(s.text(253)), entry),
  });
}

/** A reference to an entry of a Secret. */
export type SecretRef = s.Infer<ReturnType<typeof secretRefSchema>>;

/** A backend that a policy itself calls, such as the key server of an identity provider. */
export const policyBackendRefSchema = s.object({
  group: s.field(
    "Group of the backend.",
    s.withDefault(s.string(), POLICY_API_GROUP),
  ),
  kind: s.field(
    "Kind of the backend.",
    s.withDefault(s.text(63), "GatewayBackend"),
  ),
  name: s.field("Name of the backend.", referenceName),
  namespace: s.field(
    "Namespace of the backend; another than the policy's needs a `ReferenceGrant`. Default: that of the policy.",
    s.optional(namespace),
  ),
  port: s.field(
    "Port of the backend, for verification; the gateway uses the backend's own.",
    s.optional(port),
  ),
});

/** A backend that a policy itself calls. */
export type PolicyBackendRef = s.Infer<typeof policyBackendRefSchema>;
