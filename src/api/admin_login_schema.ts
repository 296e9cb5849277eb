import {
  openIdClientFields,
  sealingSecret,
  sessionFields,
} from "./login_fields.ts";
import { celExpression, httpUrl } from "./schema/scalars.ts";
import * as s from "./schema/schema.ts";

/** Roles of users of the admin interface, each with the rights of those before it. */
export const adminRoles = ["viewer", "operator", "admin"] as const;

/** A role of a user of the admin interface. */
export type AdminRole = typeof adminRoles[number];

const roles = s.refine(
  s.object({
    viewer: s.field("Sees everything but secrets.", s.optional(celExpression)),
    operator: s.field(
      "Changes keys, budgets, approved tools and log levels, too.",
      s.optional(celExpression),
    ),
    admin: s.field(
      "Changes the configuration and stops the gateway, too.",
      s.optional(celExpression),
    ),
  }),
  s.atLeastOne("viewer", "operator", "admin"),
);

/** Login of users at the admin interface. */
export const adminLoginSchema = s.refine(
  s.object({
    ...openIdClientFields({
      issuer: "Issuer of the OpenID provider.",
      redirectUri: "<url>/ui/login/callback",
      scopes: "`groups`",
    }),
    url: s.field(
      "URL at which users reach the admin interface, such as `https://admin.example.com`, if a proxy is in front of it. Default: as the browser names it.",
      s.optional(s.refine(
        httpUrl,
        s.rule(
          (text) => new URL(text).pathname === "/" && !/[?#]/.test(text),
          "must have no path and no query",
        ),
      )),
    ),
    roles: s.field(
      "Roles, each by an expression over the claims of the ID token, such as `'staff' in jwt.groups`. Of several, the highest counts; users without one get 403.",
      roles,
    ),
    team: s.field(
      "Team of the user in the store of `config.kv`, by an expression over the claims, such as `jwt.team`. With it, users see their own keys and usage at `<url>/self`, and make keys if their team allows it; they need no role.",
      s.optional(celExpression),
    ),
    ...sessionFields,
    cookieSecret: s.field(
      "Seals cookies, at least 32 characters. Without it, `config.kv` keeps a secret, or sessions end with the process.",
      s.optional(sealingSecret),
    ),
  }),
  s.atMostOne("clientSecret", "clientSecretFile"),
);

/** Login of users at the admin interface. */
export type AdminLoginSettings = s.Infer<typeof adminLoginSchema>;
