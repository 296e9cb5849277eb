import * as s from "../schema/schema.ts";
import { headerName } from "../schema/scalars.ts";

/** Methods that HTTPRoute knows; Gateway API `HTTPMethod`. */
export const httpMethods = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
] as const;

const pathCharacters = /^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+$/;
const forbiddenInPath = ["//", "/./", "/../", "%2f", "%2F", "#"];

const pathMatch = s.refine(
  s.object({
    type: s.field(
      "`Exact`: the whole path. `PathPrefix`: its first segments. `RegularExpression`: an expression that matches the whole path.",
      s.withDefault(
        s.oneOf(["Exact", "PathPrefix", "RegularExpression"]),
        "PathPrefix",
      ),
    ),
    value: s.field(
      "Path or expression. The prefix `/v1` matches `/v1/models`, not `/v10`. Expressions use RE2 syntax and match no path over 8 KiB.",
      s.withDefault(s.text(1024), "/"),
    ),
  }),
  pathRule(
    (path) => path.startsWith("/"),
    'expected a path that starts with "/"',
  ),
  pathRule(
    (path) => !hasForbiddenPart(path),
    'expected a path without "//", "/./", "/../", "%2f" or "#" that does not end in "/." or "/.."',
  ),
  pathRule(
    (path) =>
      hasForbiddenPart(path) || !path.startsWith("/") ||
      pathCharacters.test(path),
    "expected a path without query, in which characters not allowed in URLs are percent-encoded",
  ),
);

interface MatchValue {
  readonly type: string;
  readonly value: string;
}

function pathRule(
  holds: (path: string) => boolean,
  message: string,
): s.Rule<MatchValue> {
  return s.rule<MatchValue>(
    ({ type, value }) => type === "RegularExpression" || holds(value),
    message,
    ["value"],
  );
}

function hasForbiddenPart(path: string): boolean {
  return forbiddenInPath.some((part) => path.includes(part)) ||
    path.endsWith("/.") || path.endsWith("/..");
}

function valueEntries(privacy: s.Privacy) {
  return {
    type: s.field(
      "`Exact`: `value` is the value. `RegularExpression`: an expression that matches the whole value.",
      s.withDefault(s.oneOf(["Exact", "RegularExpression"]), "Exact"),
    ),
    value: s.field(
      "Value or expression. Expressions use RE2 syntax and match no value over 8 KiB.",
      s.withPrivacy(privacy, s.text(4096)),
    ),
  };
}

const headerMatch = s.object({
  name: s.field("Header name, case-insensitive.", headerName),
  ...valueEntries("headerText"),
});
const queryParamMatch = s.object({
  name: s.field("Parameter name, case-sensitive.", s.text(256)),
  ...valueEntries("parameterValue"),
});

/**
 * Header whose conditions are about the model that a request to an LLM names: the gateway reads it from path or body. What a client
 * sends in it has no effect.
 */
export const MODEL_HEADER = "x-gateway-model";

const matchEntries = {
  path: s.field(
    "Condition on the path.",
    s.withDefault(pathMatch, {
      type: "PathPrefix",
      value: "/",
    }),
  ),
  headers: s.field(
    "Conditions on headers; all must hold.",
    s.optional(s.refine(
      s.list(headerMatch, { max: 16 }),
      s.unique((item) => item.name.toLowerCase(), "header name"),
    )),
  ),
  queryParams: s.field(
    "Conditions on query parameters; all must hold. Only the first value of a repeated parameter is checked.",
    s.optional(s.refine(
      s.list(queryParamMatch, { max: 16 }),
      s.unique((item) => item.name, "query parameter name"),
    )),
  ),
  method: s.field("Method of the request.", s.optional(s.oneOf(httpMethods))),
};

/** Conditions on a request; all must hold. Gateway API `HTTPRouteMatch`. */
export const httpMatchSchema = s.object(matchEntries);

/** Conditions in the short file form, which has one more. */
export const shortMatchSchema = s.object({
  ...matchEntries,
  model: s.field(
    "Model that a request to an LLM names, such as `gpt-4o`; `*` stands for any characters. In an `HTTPRoute`, use a condition on the header `x-gateway-model`.",
    s.optional(s.text(256)),
  ),
});

/** Returns the condition on the header for a model of the short form. */
export function modelCondition(model: string): HeaderMatch {
  if (!model.includes("*")) {
    return { name: MODEL_HEADER, type: "Exact", value: model };
  }
  const parts = model.split(/\*+/).map((part) =>
    part.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&")
  );
  const value = parts.join(".*");
  return { name: MODEL_HEADER, type: "RegularExpression", value };
}

/** Conditions on a request; all must hold. */
export type HttpMatch = s.Infer<typeof httpMatchSchema>;
/** Condition on a header. */
export type HeaderMatch = s.Infer<typeof headerMatch>;
/** Condition on a query parameter. */
export type QueryParamMatch = s.Infer<typeof queryParamMatch>;
