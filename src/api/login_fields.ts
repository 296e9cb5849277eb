import { duration } from "./schema/duration.ts";
import * as s from "./schema/schema.ts";

/** A secret that seals values. */
export const sealingSecret = s.refine(
  s.secret(),
  s.rule(
    (secret) => secret.length >= 32,
    "must have at least 32 characters",
  ),
);

/** Secret of the gateway as a client of a provider at which users log in. */
export const clientSecretFields = {
  clientSecret: s.field(
    "Secret of the client, usually as `${NAME}`.",
    s.optional(s.secret()),
  ),
  clientSecretFile: s.field(
    "File with the secret, read at startup.",
    s.optional(s.text(4096)),
  ),
};

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
