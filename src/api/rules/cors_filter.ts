import { httpMethods } from "./http_match.ts";
import { headerName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const originPattern =
  /^(?:\*|[a-zA-Z][a-zA-Z0-9+.-]*:\/\/(?:\*|(?:\*\.)?[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(?::(?:[0-9]{1,5}|\*))?)$/;

const origin = s.named(
  "origin",
  s.pattern(
    originPattern,
    'an origin such as "https://app.example.com" or "*"',
  ),
);
const ALONE_MESSAGE = '"*" cannot be combined with other values';

function wildcardAlone(values: readonly string[]): boolean {
  return values.length < 2 || !values.includes("*");
}

const headerNames = s.refine(
  s.list(headerName, { max: 64 }),
  s.rule(wildcardAlone, ALONE_MESSAGE),
);

/** Cross-origin resource sharing; Gateway API `HTTPCORSFilter`. */
export const corsSchema = s.object({
  allowOrigins: s.field(
    "Allowed origins, such as `https://app.example.com` or `https://*.example.com`; `*` allows all.",
    s.optional(s.refine(
      s.list(origin, { max: 64 }),
      s.rule(wildcardAlone, ALONE_MESSAGE),
    )),
  ),
  allowCredentials: s.field(
    "Allows cookies and other credentials.",
    s.optional(s.boolean()),
    false,
  ),
  allowMethods: s.field(
    "Allowed methods besides `GET`, `HEAD` and `POST`; `*` allows all.",
    s.optional(s.refine(
      s.list(s.oneOf([...httpMethods, "*"]), { max: 9 }),
      s.rule(wildcardAlone, ALONE_MESSAGE),
    )),
  ),
  allowHeaders: s.field(
    "Allowed request headers; `*` allows all.",
    s.optional(headerNames),
  ),
  exposeHeaders: s.field(
    "Response headers that scripts may read, such as `Mcp-Session-Id`; `*` exposes all.",
    s.optional(headerNames),
  ),
  maxAge: s.field(
    "Lifetime of a cached preflight response, in seconds.",
    s.withDefault(s.integer(1, 2 ** 31 - 1), 5),
  ),
});

/** Cross-origin resource sharing rules. */
export type Cors = s.Infer<typeof corsSchema>;
