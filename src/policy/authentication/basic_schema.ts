import * as s from "../../api/schema/schema.ts";

/** Users and passwords; RFC 7617. `users` are htpasswd lines. */
export const basicAuthenticationSchema = s.refine(
  s.object({
    mode: s.field(
      "`Strict`: requests need user name and password. `Optional`: requests without them pass. `AnyOf`: requests need them, or what another policy of this mode accepts.",
      s.withDefault(s.oneOf(["Strict", "Optional", "AnyOf"]), "Strict"),
    ),
    realm: s.field(
      "Realm, which browsers show when they ask for the password.",
      s.optional(
        s.pattern(
          /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/,
          "a text of printable ASCII characters without quotes and backslashes",
        ),
      ),
      "Restricted",
    ),
    users: s.field(
      "Users in the format of `htpasswd -B -C 10`: bcrypt up to cost 10, or SHA-1.",
      s.optional(
        s.withPrivacy("secret", s.list(s.secret(), { min: 1, max: 256 })),
      ),
    ),
    file: s.field(
      "File with such lines, in place of `users`, in configuration files.",
      s.optional(s.text(4096)),
    ),
  }),
  s.exactlyOne("users", "file"),
);

/** Users and passwords. */
export type BasicAuthentication = s.Infer<typeof basicAuthenticationSchema>;
