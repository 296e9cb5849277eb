import { gatewayApiVersion } from "../schema/group.ts";
import { backendFilterSchema } from "../rules/http_filter.ts";
import type { HttpMatch } from "../rules/http_match.ts";
import {
  backendRef,
  type HttpRoute,
  routeEntries,
  ruleEntries,
} from "./http_route.ts";
import { resource } from "./resource.ts";
import { headerName, objectName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

const grpcName = s.pattern(
  /^[A-Za-z_][A-Za-z0-9_.]*$/,
  "a name of a gRPC service or method",
  1024,
);

const methodMatch = s.refine(
  s.object({
    type: s.field(
      "`Exact`: the names. `RegularExpression`: expressions that match the whole names.",
      s.withDefault(s.oneOf(["Exact", "RegularExpression"]), "Exact"),
    ),
    service: s.field(
      "Service, such as `helloworld.Greeter`. Default: every service.",
      s.optional(s.text(1024)),
    ),
    method: s.field(
      "Method, such as `SayHello`. Default: every method.",
      s.optional(s.text(1024)),
    ),
  }),
  s.rule(
    ({ service, method }) => service !== undefined || method !== undefined,
    'expected "service" or "method"',
  ),
  ...(["service", "method"] as const).map((field) =>
    s.rule<{ type: string; service?: string; method?: string }>(
      ({ type, [field]: name }) =>
        type !== "Exact" || name === undefined || s.matches(grpcName, name),
      "expected a name of letters, digits and underscores",
      [field],
    )
  ),
);

const grpcMatch = s.object({
  method: s.field("Condition on the method.", s.optional(methodMatch)),
  headers: s.field(
    "Conditions on metadata; all must hold.",
    s.optional(s.list(
      s.object({
        type: s.field(
          "`Exact`: `value` is the value. `RegularExpression`: an expression that matches the whole value.",
          s.withDefault(s.oneOf(["Exact", "RegularExpression"]), "Exact"),
        ),
        name: s.field("Name, case-insensitive.", headerName),
        value: s.field(
          "Value or expression.",
          s.withPrivacy("headerText", s.text(4096)),
        ),
      }),
      { max: 16 },
    )),
  ),
});

/** A `GRPCRoute` of the Gateway API. */
export const grpcRouteSchema = resource(
  gatewayApiVersion,
  "GRPCRoute",
  s.object({
    ...routeEntries,
    rules: s.field(
      "Rules that select calls and their backends.",
      s.withDefault(
        s.list(
          s.object({
            name: s.field(
              "Name; policies refer to it by `sectionName`.",
              s.optional(objectName),
            ),
            matches: s.field(
              "Calls that the rule applies to: those that satisfy at least one match. Default: all.",
              s.withDefault(s.list(grpcMatch, { max: 64 }), []),
            ),
            filters: s.field(
              "Changes to calls and responses.",
              s.optional(s.list(backendFilterSchema, { max: 16 })),
            ),
            sessionPersistence: ruleEntries.sessionPersistence,
            backendRefs: s.field(
              "Backends that receive the calls, in proportion to their weights.",
              s.optional(s.list(backendRef, { max: 16 })),
            ),
          }),
          { max: 16 },
        ),
        [],
      ),
    ),
  }),
);

/** A route of gRPC calls. */
export type GrpcRoute = s.Infer<typeof grpcRouteSchema>;

type GrpcMatch = s.Infer<typeof grpcMatch>;

/** Returns the route of HTTP requests that a route of gRPC calls is: `/<service>/<method>` (gRPC over HTTP/2, "Requests"). */
export function toHttpRoute({ spec, ...route }: GrpcRoute): HttpRoute {
  const { rules, ...rest } = spec;
  return {
    ...route,
    spec: {
      ...rest,
      rules: rules.map(({ matches, ...rule }) => ({
        ...rule,
        matches: matches.length === 0 ? [everyCall] : matches.map(toHttpMatch),
      })),
    },
  };
}

const everyCall: HttpMatch = { path: { type: "PathPrefix", value: "/" } };

function toHttpMatch({ method, headers }: GrpcMatch): HttpMatch {
  return {
    path: method === undefined ? everyCall.path : pathOf(method),
    ...(headers !== undefined && { headers }),
  };
}

function pathOf(
  { type, service, method }: NonNullable<GrpcMatch["method"]>,
): HttpMatch["path"] {
  if (type === "Exact" && service !== undefined) {
    return method === undefined
      ? { type: "PathPrefix", value: `/${service}` }
      : { type: "Exact", value: `/${service}/${method}` };
  }
  const expression = (name: string | undefined) =>
    name === undefined
      ? "[^/]+"
      : type === "Exact"
      ? name.replaceAll(".", "\\.")
      : `(?:${name})`;
  return {
    type: "RegularExpression",
    value: `/${expression(service)}/${expression(method)}`,
  };
}
