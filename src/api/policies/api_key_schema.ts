import { credentialLocationSchema } from "./jwt_schema.ts";
import * as s from "../schema/schema.ts";

const apiKey = s.refine(
  s.object({
    key: s.field("The key itself.", s.optional(s.secret())),
    keyHash: s.field(
      "In place of the key: `sha256:` and the digest of the key in lower-case hexadecimal digits.",
      s.optional(
        s.pattern(
          /^sha256:[0-9a-f]{64}$/,
          '"sha256:" and 64 hexadecimal digits',
        ),
      ),
    ),
    metadata: s.field(
      "What expressions see as `apiKey`.",
      s.optional(s.map(s.string(), s.unknown())),
    ),
  }),
  s.exactlyOne("key", "keyHash"),
);

/** Clients identified by a key of their own. */
export const apiKeyAuthenticationSchema = s.object({
  mode: s.field(
    "`Strict`: a key is required. `Optional`: a request without passes. `Permissive`: one with an unknown key passes too.",
    s.withDefault(s.oneOf(["Strict", "Optional", "Permissive"]), "Strict"),
  ),
  keys: s.field(
    "The keys that are known.",
    s.withPrivacy("secret", s.list(apiKey, { min: 1, max: 1024 })),
  ),
  location: s.field(
    "Where the key stands; after `Authorization: Bearer` when left out.",
    s.optional(credentialLocationSchema),
  ),
});

/** Clients identified by a key of their own. */
export type ApiKeyAuthentication = s.Infer<typeof apiKeyAuthenticationSchema>;
