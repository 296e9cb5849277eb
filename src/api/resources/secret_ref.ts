import { namespace, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

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
