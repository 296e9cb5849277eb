import * as s from "../../../api/schema/schema.ts";

const host = s.pattern(
  /^(?:\*\.)?[a-z0-9.-]+(?::[0-9]{1,5})?$/,
  'a host such as "app.example.com" or "*.example.com"',
  255,
);
const redirect = s.pattern(
  /^(?:(?:\*\.)?[a-z0-9.-]+|[a-z][a-z0-9+.-]*:)$/,
  'a host such as "app.example.com" or "*.example.com", a scheme such as "cursor:", or "loopback"',
  255,
);

/** Clients of issuer mode `Proxied` that an administrator allows. */
export const clientRulesSchema = s.refine(
  s.object({
    redirects: s.field(
      "Where clients may send users back to: hosts such as `app.example.com` and `*.example.com`, schemes of programs such as `cursor:`, and `loopback` for programs on the user's computer. Default: everywhere.",
      s.optional(s.list(redirect, { max: 256 })),
    ),
    documentHosts: s.field(
      "Hosts of client metadata documents; an empty list allows none. Default: all.",
      s.optional(s.list(host, { max: 256 })),
    ),
    registration: s.field(
      "`Token`: clients need one of `registrationTokens` to register. `Closed`: clients cannot register.",
      s.withDefault(s.oneOf(["Open", "Token", "Closed"]), "Open"),
    ),
    registrationTokens: s.field(
      "Initial access tokens (RFC 7591 section 3), each of which registers any number of clients.",
      s.optional(
        s.withPrivacy("secret", s.list(s.secret(), { min: 1, max: 64 })),
      ),
    ),
  }),
  s.rule(
    ({ registration, registrationTokens }) =>
      (registration === "Token") === (registrationTokens !== undefined),
    '"registration: Token" and "registrationTokens" need each other',
  ),
);
