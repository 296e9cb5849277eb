import assert from "node:assert/strict";
import { loadPatterns } from "../../../../src/base/pattern.ts";
import {
  backend,
  compileAll,
  diagnosticLines,
  gateway,
  route,
  to,
} from "../resources.ts";

await loadPatterns();

type Match = Readonly<Record<string, unknown>>;

function pathMatch(type: string, value: string, more: object = {}): Match {
  return { path: { type, value }, ...more };
}

function prefix(value: string, more?: object): Match {
  return pathMatch("PathPrefix", value, more);
}

function expression(value: string, more?: object): Match {
  return pathMatch("RegularExpression", value, more);
}

/** Compiles routes `r0`, `r1` and so on, each with one match. */
function warningsOf(
  matches: readonly Match[],
  specOf: (index: number) => object = () => ({}),
): readonly string[] {
  return diagnosticLines(compileAll({
    gateways: [gateway("gw", [{ name: "a" }, { name: "b", port: 81 }])],
    gatewayBackends: [backend("b")],
    httpRoutes: matches.map((match, index) =>
      route(`r${index}`, {
        rules: [{ matches: [match], backendRefs: [to("b")] }],
        ...specOf(index),
      })
    ),
  }));
}

const shadowed: readonly [string, string][] = [
  ["/api", "/api/v[0-9]+"],
  ["/api/", "/api/v[0-9]+"],
  ["/", "(?i)/models"],
  ["/api", "^/api/.*$"],
  ["/api", "/api"],
  ["/", "/a|/b"],
  ["/v1.0", "/v1\\.0/.+"],
];
for (const [path, pattern] of shadowed) {
  Deno.test(`the prefix ${path} of another route hides the expression ${pattern}`, () => {
    assert.deepEqual(warningsOf([expression(pattern), prefix(path)]), [
      `warning HTTPRoute/default/r0 spec.rules.0.matches.0: No request reaches this expression: prefix "${
        path.replace(/(?<=.)\/$/, "")
      }" of route "r1" matches the same paths, and prefixes take precedence; make the prefix longer or an expression`,
    ]);
  });
}

const get = { method: "GET" };
Deno.test("a prefix with the conditions of an expression hides it", () => {
  const found = warningsOf([expression("/a/.*", get), prefix("/a", get)]);
  assert.equal(found.length, 1);
});

const reached: readonly [string, readonly Match[]][] = [
  ["a prefix that is a part of a segment", [
    expression("/api.*"),
    prefix("/api"),
  ]],
  ["an optional slash", [expression("/api/?"), prefix("/api/x")]],
  ["an alternative", [expression("/api/x|/other"), prefix("/api")]],
  ["a prefix with a condition", [expression("/a/.*"), prefix("/a", get)]],
  ["a longer prefix", [expression("/a/.*"), prefix("/a/b")]],
  ["an exact path", [expression("/a"), pathMatch("Exact", "/a")]],
  ["other conditions", [prefix("/a"), prefix("/a", get)]],
];
for (const [name, matches] of reached) {
  Deno.test(`${name} hides nothing`, () => {
    assert.deepEqual(warningsOf(matches), []);
  });
}

Deno.test("the older of two equal matches wins, and the other gets a warning", () => {
  assert.deepEqual(warningsOf([prefix("/a"), prefix("/a/")]), [
    'warning HTTPRoute/default/r1 spec.rules.0.matches.0: No request reaches this match: route "r0" has the same one and takes precedence',
  ]);
});

Deno.test("a match that one listener or hostname reaches gets no warning", () => {
  const match = prefix("/a");
  const atOneListener = warningsOf(
    [match, match],
    (index) =>
      index === 0 ? { parentRefs: [{ name: "gw", sectionName: "a" }] } : {},
  );
  const forOneHost = warningsOf(
    [match, match],
    (index) => ({
      hostnames: index === 0 ? ["a.example"] : ["a.example", "b.example"],
    }),
  );
  assert.deepEqual([...atOneListener, ...forOneHost], []);
});
