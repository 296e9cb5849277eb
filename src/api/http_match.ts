import { headerName, isRegularExpression } from "./scalars.ts";
import * as s from "./schema.ts";

const pathCharacters = /^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+$/;
const forbiddenInPath = ["//", "/./", "/../", "%2f", "%2F", "#"];

const pathMatch = s.refine(
  s.object({
    type: s.withDefault(
      s.oneOf(["Exact", "PathPrefix", "RegularExpression"]),
      "PathPrefix",
    ),
    value: s.withDefault(s.text(1024), "/"),
  }),
  s.rule(
    (path) => path.type === "RegularExpression" || path.value.startsWith("/"),
    'value must start with "/"',
  ),
  s.rule(
    (path) =>
      path.type === "RegularExpression" || !hasForbiddenPart(path.value),
    'value must not contain "//", "/./", "/../", "%2f" or "#", or end in "/." or "/.."',
  ),
  s.rule(
    (path) =>
      path.type === "RegularExpression" || pathCharacters.test(path.value),
    "value must hold only characters of a URL path, others percent-encoded",
  ),
  s.rule(
    (path) =>
      path.type !== "RegularExpression" || isRegularExpression(path.value),
    "value is not a regular expression",
  ),
);

function hasForbiddenPart(path: string): boolean {
  return forbiddenInPath.some((part) => path.includes(part)) ||
    path.endsWith("/.") || path.endsWith("/..");
}

const valueEntries = {
  type: s.withDefault(s.oneOf(["Exact", "RegularExpression"]), "Exact"),
  value: s.text(4096),
};

function isMatchValue(
  match: { readonly type: string; readonly value: string },
): boolean {
  return match.type !== "RegularExpression" || isRegularExpression(match.value);
}

const headerMatch = s.refine(
  s.object({ name: headerName, ...valueEntries }),
  s.rule(isMatchValue, "value is not a regular expression"),
);
const queryParamMatch = s.refine(
  s.object({ name: s.text(256), ...valueEntries }),
  s.rule(isMatchValue, "value is not a regular expression"),
);

/** Conditions that must all hold; Gateway API `HTTPRouteMatch`. */
export const httpMatchSchema = s.object({
  path: s.withDefault(pathMatch, { type: "PathPrefix", value: "/" }),
  headers: s.optional(s.refine(
    s.list(headerMatch, { max: 16 }),
    s.unique((item) => item.name.toLowerCase(), "header name"),
  )),
  queryParams: s.optional(s.refine(
    s.list(queryParamMatch, { max: 16 }),
    s.unique((item) => item.name, "query parameter name"),
  )),
  method: s.optional(
    s.oneOf([
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "DELETE",
      "CONNECT",
      "OPTIONS",
      "TRACE",
      "PATCH",
    ]),
  ),
});

/** Conditions that must all hold for a request. */
export type HttpMatch = s.Infer<typeof httpMatchSchema>;
/** Condition on the path. */
export type PathMatch = HttpMatch["path"];
/** Condition on a header. */
export type HeaderMatch = s.Infer<typeof headerMatch>;
/** Condition on a query parameter. */
export type QueryParamMatch = s.Infer<typeof queryParamMatch>;
