import assert from "node:assert/strict";
import { httpRouteSchema } from "../../../../src/api/resources/http_route.ts";
import { formatPath, validate } from "../../../../src/api/schema/validate.ts";

/** Returns the paths of all problems of a route with this rule. */
function problemsOf(rule: unknown): readonly string[] {
  const result = validate(httpRouteSchema, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "route" },
    spec: { rules: [rule] },
  });
  return result.ok
    ? []
    : result.problems.map(({ path }) =>
      formatPath(path).replace("spec.rules[0]", "rule")
    );
}

const cors = { type: "CORS", cors: {} };
const redirect = { type: "RequestRedirect", requestRedirect: {} };
const setHeader = { type: "RequestHeaderModifier", requestHeaderModifier: {} };
const rewrite = { type: "URLRewrite", urlRewrite: {} };
const replacePrefix = {
  type: "URLRewrite",
  urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/" } },
};

function matchOf(type: string, value: string) {
  return { path: { type, value } };
}

function path(value: string) {
  return { matches: [matchOf("PathPrefix", value)] };
}

function times(count: number, item: (index: number) => unknown) {
  return Array.from({ length: count }, (_, index) => item(index));
}

// Expectations come from the validation rules in the Gateway API's types (v1, `HTTPRoute`).
const cases: readonly {
  name: string;
  rule: unknown;
  problems?: readonly string[];
}[] = [
  { name: "an empty rule", rule: {} },
  { name: "a prefix of the root", rule: path("/") },
  {
    name: "a path with every allowed character",
    rule: path("/a-._~!$&'()*+,;=:@%20"),
  },
  {
    name: "a regular expression without slash",
    rule: { matches: [matchOf("RegularExpression", "a.*")] },
  },
  {
    name: "a path ending in a dot segment",
    rule: path("/a/."),
    problems: ["rule.matches[0].path.value"],
  },
  {
    name: "a path ending in two dots",
    rule: path("/a/.."),
    problems: ["rule.matches[0].path.value"],
  },
  {
    name: "a path with a fragment",
    rule: path("/a#b"),
    problems: ["rule.matches[0].path.value"],
  },
  {
    name: "a path with a space",
    rule: path("/a b"),
    problems: ["rule.matches[0].path.value"],
  },
  {
    name: "a path of 1025 characters",
    rule: path("/".padEnd(1025, "a")),
    problems: ["rule.matches[0].path.value"],
  },
  { name: "64 matches", rule: { matches: times(64, () => ({})) } },
  {
    name: "65 matches",
    rule: { matches: times(65, () => ({})) },
    problems: ["rule.matches"],
  },
  {
    name: "16 backends",
    rule: { backendRefs: times(16, () => ({ name: "a" })) },
  },
  {
    name: "17 backends",
    rule: { backendRefs: times(17, () => ({ name: "a" })) },
    problems: ["rule.backendRefs"],
  },
  {
    name: "a Service as backend",
    rule: { backendRefs: [{ name: "a", port: 80 }] },
  },
  {
    name: "a weight of a million",
    rule: { backendRefs: [{ name: "a", weight: 1_000_000 }] },
  },
  {
    name: "a weight above a million",
    rule: { backendRefs: [{ name: "a", weight: 1_000_001 }] },
    problems: ["rule.backendRefs[0].weight"],
  },
  {
    name: "two header modifiers",
    rule: { filters: [setHeader, setHeader] },
    problems: ["rule.filters[1]"],
  },
  {
    name: "two CORS filters",
    rule: { filters: [cors, cors] },
    problems: ["rule.filters[1]"],
  },
  {
    name: "two mirrors",
    rule: {
      filters: times(
        2,
        () => ({
          type: "RequestMirror",
          requestMirror: { backendRef: { name: "a" } },
        }),
      ),
    },
  },
  {
    name: "redirect and rewrite",
    rule: { filters: [redirect, rewrite] },
    problems: ["rule.filters"],
  },
  {
    name: "redirect with backends",
    rule: { filters: [redirect], backendRefs: [{ name: "a" }] },
    problems: ["rule.backendRefs"],
  },
  { name: "redirect without backends", rule: { filters: [redirect] } },
  {
    name: "prefix replacement without matches",
    rule: { filters: [replacePrefix] },
  },
  {
    name: "prefix replacement of one prefix",
    rule: { ...path("/a"), filters: [replacePrefix] },
  },
  {
    name: "prefix replacement of an exact path",
    rule: { matches: [matchOf("Exact", "/a")], filters: [replacePrefix] },
    problems: ["rule.matches"],
  },
  {
    name: "65 CORS origins",
    rule: {
      filters: [{
        type: "CORS",
        cors: { allowOrigins: times(65, (i) => `https://a${i}`) },
      }],
    },
    problems: ["rule.filters[0].cors.allowOrigins"],
  },
  {
    name: "a backend timeout without a request timeout",
    rule: { timeouts: { request: "0s", backendRequest: "1h" } },
  },
  {
    name: "a backend timeout above the request timeout",
    rule: { timeouts: { request: "1s", backendRequest: "2s" } },
    problems: ["rule.timeouts.backendRequest"],
  },
  { name: "an unknown field", rule: { mirror: {} }, problems: ["rule.mirror"] },
];

for (const { name, rule, problems = [] } of cases) {
  Deno.test(`httpRouteSchema ${problems.length === 0 ? "accepts" : "rejects"} ${name}`, () => {
    assert.deepEqual(problemsOf(rule), problems);
  });
}

Deno.test("validate reports every unknown field of a mapping", () => {
  assert.deepEqual(problemsOf({ one: 1, two: 2 }), ["rule.one", "rule.two"]);
});

Deno.test("validate rejects a list where a mapping is expected", () => {
  assert.deepEqual(problemsOf([]), ["rule"]);
});
