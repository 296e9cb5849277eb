import { credentialLocationSchema } from "./jwt_authentication.ts";
import * as s from "./schema.ts";

const apiKey = s.refine(
  s.object({
    key: s.optional(s.secret()),
    keyHash: s.optional(
      s.pattern(/^sha256:[0-9a-f]{64}$/, '"sha256:" and 64 hexadecimal digits'),
    ),
    metadata: s.optional(s.map(s.string(), s.unknown())),
  }),
  s.exactlyOne("key", "keyHash"),
);

/** Clients identified by a key of their own. */
export const apiKeyAuthenticationSchema = s.object({
  mode: s.withDefault(s.oneOf(["Strict", "Optional", "Permissive"]), "Strict"),
  keys: s.list(apiKey, { min: 1, max: 1024 }),
  location: s.optional(credentialLocationSchema),
});

/** Clients identified by a key of their own. */
export type ApiKeyAuthentication = s.Infer<typeof apiKeyAuthenticationSchema>;
