import { duration } from "./schema/duration.ts";
import { httpUrl } from "./schema/scalars.ts";
import * as s from "./schema/schema.ts";

/** A secret that seals values. */
export const sealingSecret = s.refine(
  s.secret(),
  s.rule(
    (secret) => secret.length >= 32,
    "must have at least 32 characters",
  ),
);

/** Creates the fields of the gateway as a client of an OpenID provider at which users log in. */
export function openIdClientFields(
  { issuer, redirectUri, scopes }: {
    /** Describes the issuer. */
    readonly issuer: string;
    readonly redirectUri: string;
    /** Describes scopes that are useful. */
    readonly scopes: string;
  },
) {
  return {
    issuer: s.field(issuer, httpUrl),
    clientId: s.field(
      `Client ID of the gateway at the provider, with the redirect URI \`${redirectUri}\`.`,
      s.text(2048),
    ),
    clientSecret: s.field(
      "Secret of the client, usually as `${NAME}`.",
      s.optional(s.secret()),
    ),
    clientSecretFile: s.field(
      "File with the secret, read at startup.",
      s.optional(s.text(4096)),
    ),
    caFile: s.field(
      "File with the only CAs that certificates of the provider are verified with, PEM, read at startup. Default: the system's CAs.",
      s.optional(s.text(4096)),
    ),
    scopes: s.field(
      `Scopes besides \`openid\`, such as ${scopes}.`,
      s.withDefault(s.list(s.text(256), { max: 16 }), []),
    ),
  };
}

/** Lifetime of the sessions of browsers. */
export const sessionFields = {
  idleTimeout: s.field(
    "A session ends so long after its last request.",
    s.withDefault(duration, "1h"),
  ),
  absoluteTimeout: s.field(
    "A session ends so long after the login.",
    s.withDefault(duration, "12h"),
  ),
};
