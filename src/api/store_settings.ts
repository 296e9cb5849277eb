import { openIdClientFields, sealingSecret } from "./login_fields.ts";
import { positiveDuration } from "./schema/duration.ts";
import { httpUrl, redisUrl } from "./schema/scalars.ts";
import * as s from "./schema/schema.ts";

/** The store that processes share. */
export const kvSchema = s.refine(
  s.object({
    path: s.field(
      "File of an embedded store; relative to the process's working directory.",
      s.optional(s.text(4096)),
    ),
    url: s.field("URL of a remote store.", s.optional(httpUrl)),
    redis: s.field(
      "URL of a Redis or Valkey server, `redis://` or `rediss://`, with user, password and database.",
      s.optional(redisUrl),
    ),
  }),
  s.exactlyOne("path", "url", "redis"),
);

/** Tokens of callers, sealed in the store. */
export const vaultSchema = s.refine(
  s.object({
    keys: s.field(
      "Keys of at least 32 characters, usually as `${NAME}`: the first one seals, all of them open.",
      s.optional(s.list(
        sealingSecret,
        { min: 1, max: 16 },
      )),
    ),
    keyFile: s.field(
      "File with such keys, one a line, in place of `keys`; a changed file applies within seconds.",
      s.optional(s.text(4096)),
    ),
    maxAge: s.field(
      "Time after which a record that nobody has changed is forgotten.",
      s.withDefault(positiveDuration, "2160h"),
    ),
  }),
  s.exactlyOne("keys", "keyFile"),
);

/** Pages on which users connect their accounts. */
export const connectionsSchema = s.object({
  url: s.field(
    "URL of the pages on which users connect their accounts, such as `https://gateway.example.com/connections`. A listener has to serve its host; the path has no other use then.",
    s.refine(
      httpUrl,
      s.rule(
        isPageUrl,
        "must have a path, no query, and HTTPS unless it is this machine",
      ),
    ),
  ),
  logins: s.field(
    "Identity providers at which users log in on these pages: the issuers of the tokens that `jwtAuthentication` verifies.",
    s.list(
      s.refine(
        s.object({
          ...openIdClientFields({
            issuer: "Issuer of the ID tokens, and of `iss`.",
            redirectUri: "<url>/login",
            scopes: "`profile`, with which the pages show the name of the user",
          }),
        }),
        s.atMostOne("clientSecret", "clientSecretFile"),
      ),
      { min: 1, max: 16 },
    ),
  ),
});

function isPageUrl(text: string): boolean {
  const { protocol, hostname, pathname, search, hash, username } = new URL(
    text,
  );
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return (protocol === "https:" || isLoopback) && pathname !== "/" &&
    !pathname.endsWith("/") && search === "" && hash === "" && username === "";
}
