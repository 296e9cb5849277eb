import { positiveDuration } from "../schema/duration.ts";
import * as s from "../schema/schema.ts";

/** Fields that carry the message itself; a mark there would break it. */
const reserved =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|date|server|via|forwarded|cookie|set-cookie|authorization|www-authenticate|location|cache-control|(?:content|accept|proxy|x-forwarded|sec)-.*)$/i;

/** Sessions of a rule (Gateway API `SessionPersistence`, GEP-1619). */
export const sessionPersistenceSchema = s.refine(
  s.object({
    sessionName: s.field(
      "Name of the cookie or header. Default: for cookies, one of the route's own; for headers, `x-gateway-session`.",
      s.optional(s.pattern(
        /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/,
        'a cookie or header name such as "session"',
        128,
      )),
    ),
    type: s.field(
      "`Cookie`: browsers send it back by themselves. `Header`: clients send the response header of that name in their next requests.",
      s.withDefault(s.oneOf(["Cookie", "Header"]), "Cookie"),
    ),
    absoluteTimeout: s.field(
      "Duration of a session. Default: unlimited.",
      s.optional(positiveDuration),
    ),
    cookieConfig: s.field(
      "Settings of the cookie.",
      s.optional(s.object({
        lifetimeType: s.field(
          "`Session`: the client forgets the cookie when it ends. `Permanent`: it keeps the cookie for `absoluteTimeout`.",
          s.withDefault(s.oneOf(["Session", "Permanent"]), "Session"),
        ),
      })),
    ),
  }),
  s.rule(
    ({ type, cookieConfig }) => type === "Cookie" || cookieConfig === undefined,
    'can only be set with type "Cookie"',
    ["cookieConfig"],
  ),
  s.rule(
    ({ cookieConfig, absoluteTimeout }) =>
      cookieConfig?.lifetimeType !== "Permanent" ||
      absoluteTimeout !== undefined,
    'required with lifetimeType "Permanent"',
    ["absoluteTimeout"],
  ),
  s.rule(
    ({ type, sessionName = "" }) =>
      type === "Cookie" || !reserved.test(sessionName),
    "a header of HTTP itself cannot carry sessions",
    ["sessionName"],
  ),
);

/** Sessions of a rule. */
export type SessionPersistence = s.Infer<typeof sessionPersistenceSchema>;
