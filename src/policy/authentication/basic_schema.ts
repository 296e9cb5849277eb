import * as s from "../../api/schema/schema.ts";

/** Users and passwords; RFC 7617. `users` are htpasswd lines. */
export const basicAuthenticationSchema = s.refine(
  s.object({
    mode: s.field(
      "`Strict`: user name and password are required. `Optional`: a request without passes.",
      s.withDefault(s.oneOf(["Strict", "Optional"]), "Strict"),
    ),
    realm: s.field(
      "What browsers call the place that asks.",
      s.optional(
        s.pattern(
          /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/,
          "a text of printable ASCII characters without quotes and backslashes",
        ),
      ),
      "Restricted",
    ),
    users: s.field(
      "Users as `htpasswd -B -C 10` prints them: bcrypt up to cost 10, or SHA-1.",
      s.optional(
        s.withPrivacy("secret", s.list(s.secret(), { min: 1, max: 256 })),
      ),
    ),
    file: s.field(
      "In place of `users`: path of a file with such lines.",
      s.optional(s.text(4096)),
    ),
  }),
  s.exactlyOne("users", "file"),
);

/** Users and passwords. */
export type BasicAuthentication = s.Infer<typeof basicAuthenticationSchema>;
