import {
  clientSecretFields,
  sealingSecretFile,
  sealingSecretRef,
  secretEntries,
  secretRefSchema,
} from "../../../api/resources/credentials/secret_value.ts";
import { ownParametersRule } from "../../../api/resources/credentials/token_client.ts";
import { sessionFields } from "../../../api/login_fields.ts";
import { httpUrl, urlPath } from "../../../api/schema/scalars.ts";
import * as s from "../../../api/schema/schema.ts";

/** Entries of the Secrets unless references name others. */
export const oidcEntries = {
  clientSecret: secretEntries.clientSecret,
  cookieSecret: "cookieSecret",
  ca: "ca.crt",
} as const;

const urlOrPath = s.withPrivacy(
  "url",
  s.named(
    "URL or path",
    s.checkedText(
      (text) =>
        /^\/[^?#\s]*$/.test(text) ||
        /^https?:\/\//i.test(text) && URL.canParse(text),
      'a path such as "/oauth2/callback", or a URL',
    ),
  ),
);

/** Parameters of authorization requests that the gateway sends itself, or that change how it gets the response. */
const ownParameters: ReadonlySet<string> = new Set([
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "redirect_uri",
  "request",
  "request_uri",
  "response_mode",
  "response_type",
  "scope",
  "state",
]);

const logout = s.object({
  path: s.field(
    "Path of the logout, for a link or a form of your pages.",
    s.withDefault(urlPath, "/oauth2/logout"),
  ),
  backChannelPath: s.field(
    "Path for the provider's logout tokens (OpenID Connect Back-Channel Logout).",
    s.withDefault(urlPath, "/oauth2/backchannel-logout"),
  ),
  atProvider: s.field(
    "Ends the session at the provider too, if it has an `end_session_endpoint`.",
    s.withDefault(s.boolean(), true),
  ),
  redirectUrl: s.field(
    "Path or URL where users go after the logout; for the one at the provider, register it there. Default: a page of the gateway.",
    s.optional(urlOrPath),
  ),
});

/** Logs users of browsers in at an OpenID provider. */
export const oidcSchema = s.refine(
  s.object({
    mode: s.field(
      "`Strict`: requests need a session. `AnyOf`: requests need a session, or what another policy of this mode accepts.",
      s.withDefault(s.oneOf(["Strict", "AnyOf"]), "Strict"),
    ),
    issuer: s.field(
      "Issuer of the provider, whose metadata names everything else.",
      httpUrl,
    ),
    clientId: s.field(
      "Client ID of the gateway at the provider.",
      s.text(2048),
    ),
    ...clientSecretFields(
      "Secret of the client; write `${NAME}` to take it from the environment. None for a public client.",
    ),
    ca: s.field(
      "The only CAs that certificates of the provider are verified with, PEM. Default: the system's CAs.",
      s.optional(s.text(1 << 20)),
    ),
    caFile: s.field(
      "File with these CAs, in configuration files.",
      s.optional(s.text(4096)),
    ),
    caRef: s.field(
      "Secret with these CAs.",
      s.optional(secretRefSchema("policy", oidcEntries.ca)),
    ),
    scopes: s.field(
      "Scopes besides `openid`, such as `email`; `offline_access` for tokens that are renewed.",
      s.optional(s.list(s.text(256), { max: 64 })),
    ),
    parameters: s.field(
      "Further parameters of authorization requests, such as `prompt`.",
      s.optional(s.map(s.text(128), s.text(4096))),
    ),
    redirectUrl: s.field(
      "Redirect URI that is registered at the provider: a path on the host of the request, or a URL.",
      s.withDefault(urlOrPath, "/oauth2/callback"),
    ),
    session: s.field(
      "Lifetime of sessions.",
      s.optional(s.object(sessionFields)),
    ),
    logout: s.field("How users log out.", s.optional(logout)),
    cookieSecret: s.field(
      "Seals cookies, at least 32 characters, the same for every replica. Without one, `config.kv` keeps a secret, or sessions end with the process.",
      s.optional(s.secret()),
    ),
    cookieSecretFile: sealingSecretFile,
    cookieSecretRef: sealingSecretRef(oidcEntries.cookieSecret),
    allowedOrigins: s.field(
      "Other origins, such as `https://app.example.com`, whose pages may change something with a session. Default: only those of the same origin.",
      s.optional(s.list(httpUrl, { max: 64 })),
    ),
    forwardAccessToken: s.field(
      "Forwards the access token of the user as `Authorization: Bearer`.",
      s.withDefault(s.boolean(), false),
    ),
  }),
  s.atMostOne("clientSecret", "clientSecretFile", "clientSecretRef"),
  s.atMostOne("cookieSecret", "cookieSecretFile", "cookieSecretRef"),
  s.atMostOne("ca", "caFile", "caRef"),
  ownParametersRule(ownParameters),
);

/** Logs users of browsers in at an OpenID provider. */
export type Oidc = s.Infer<typeof oidcSchema>;

const defaultSession: NonNullable<Oidc["session"]> = {
  idleTimeout: "1h",
  absoluteTimeout: "12h",
};

const defaultLogout: NonNullable<Oidc["logout"]> = {
  path: "/oauth2/logout",
  backChannelPath: "/oauth2/backchannel-logout",
  atProvider: true,
};

/** Returns the settings of sessions and logouts, with their defaults. */
export function settingsOf({ session, logout }: Oidc) {
  return {
    session: session ?? defaultSession,
    logout: logout ?? defaultLogout,
  };
}

/** Returns the paths at which the policy responds itself. */
export function ownPathsOf(
  config: Oidc,
): Readonly<Record<"callback" | "logout" | "backChannel", string>> {
  const { path, backChannelPath } = settingsOf(config).logout;
  const { redirectUrl } = config;
  return {
    callback: redirectUrl.startsWith("/")
      ? redirectUrl
      : new URL(redirectUrl).pathname,
    logout: path,
    backChannel: backChannelPath,
  };
}
