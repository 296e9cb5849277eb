import { httpMethods } from "./http_method.ts";
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
    "Origins that may read answers, such as `https://app.example.com` or `https://*.example.com`; `*` is all of them.",
    s.optional(s.refine(
      s.list(origin, { max: 64 }),
      s.rule(wildcardAlone, ALONE_MESSAGE),
    )),
  ),
  allowCredentials: s.field(
    "Whether pages may send cookies and credentials.",
    s.optional(s.boolean()),
    false,
  ),
  allowMethods: s.field(
    "Methods that pages may use besides `GET`, `HEAD` and `POST`; `*` is all of them.",
    s.optional(s.refine(
      s.list(s.oneOf([...httpMethods, "*"]), { max: 9 }),
      s.rule(wildcardAlone, ALONE_MESSAGE),
    )),
  ),
  allowHeaders: s.field(
    "Request headers that pages may set; `*` is all of them.",
    s.optional(headerNames),
  ),
  exposeHeaders: s.field(
    "Response headers that pages may read, such as `Mcp-Session-Id`; `*` is all of them.",
    s.optional(headerNames),
  ),
  maxAge: s.field(
    "Seconds a browser may remember a preflight.",
    s.withDefault(s.integer(1, 2 ** 31 - 1), 5),
  ),
});

/** Cross-origin resource sharing rules. */
export type Cors = s.Infer<typeof corsSchema>;
