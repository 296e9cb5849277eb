import * as s from "./schema.ts";

/** Users and passwords; RFC 7617. `users` are htpasswd lines. */
export const basicAuthenticationSchema = s.refine(
  s.object({
    mode: s.withDefault(s.oneOf(["Strict", "Optional"]), "Strict"),
    realm: s.optional(
      s.pattern(/^[^"\\\r\n]+$/, "a text without quotes or line breaks"),
    ),
    users: s.optional(s.list(s.secret(), { min: 1, max: 256 })),
    file: s.optional(s.text(4096)),
  }),
  s.exactlyOne("users", "file"),
);

/** Users and passwords. */
export type BasicAuthentication = s.Infer<typeof basicAuthenticationSchema>;
