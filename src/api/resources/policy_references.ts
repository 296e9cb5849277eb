import * as s from "../schema/schema.ts";
import { namespace, port, referenceName } from "../schema/scalars.ts";
import { POLICY_API_GROUP } from "../schema/group.ts";

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
