import assert from "node:assert/strict";
import {
  compareHostnames,
  hostnameOf,
  intersectHostnames,
  selectListener,
} from "../../../src/route/hostname.ts";

const authorities = [
  ["example.com", "example.com"],
  ["example.com:8080", "example.com"],
  ["EXAMPLE.com", "example.com"],
  ["example.com.", "example.com"],
  ["example.com.:80", "example.com"],
  ["[::1]", "[::1]"],
  ["[::1]:3000", "[::1]"],
  ["127.0.0.1:3000", "127.0.0.1"],
  ["", ""],
] as const;
for (const [authority, expected] of authorities) {
  Deno.test(`hostnameOf returns "${expected}" for "${authority}"`, () => {
    assert.equal(hostnameOf(authority), expected);
  });
}

// Gateway API, HTTPRouteSpec.hostnames.
const intersections = [
  {
    quote:
      "A Listener with `test.example.com` as the hostname matches HTTPRoutes that […] have specified at least one of " +
      "`test.example.com` or `*.example.com`",
    cases: [
      ["test.example.com", "test.example.com", "test.example.com"],
      ["test.example.com", "*.example.com", "test.example.com"],
      ["test.example.com", "other.example.com", undefined],
    ],
  },
  {
    quote:
      "`*.example.com`, `test.example.com`, and `foo.test.example.com` would all match. On the other hand, `example.com` and " +
      "`test.example.net` would not match",
    cases: [
      ["*.example.com", "*.example.com", "*.example.com"],
      ["*.example.com", "test.example.com", "test.example.com"],
      ["*.example.com", "foo.test.example.com", "foo.test.example.com"],
      ["*.example.com", "a.example.com", "a.example.com"],
      ["*.example.com", "example.com", undefined],
      ["*.example.com", "test.example.net", undefined],
    ],
  },
  {
    quote:
      "Hostnames that are prefixed with a wildcard label (`*.`) are interpreted as a suffix match",
    cases: [
      ["*.example.com", "*.foo.example.com", "*.foo.example.com"],
      ["*.foo.example.com", "*.example.com", "*.foo.example.com"],
      ["example.com", "*.example.com", undefined],
      ["*.example.com", "badexample.com", undefined],
      ["*.example.com", "*.badexample.com", undefined],
    ],
  },
  {
    quote: "When unspecified, all hostnames are matched",
    cases: [
      ["*", "test.example.com", "test.example.com"],
      ["*", "*.example.com", "*.example.com"],
      ["test.example.com", "*", "test.example.com"],
      ["*", "*", "*"],
    ],
  },
] as const;
for (const { quote, cases } of intersections) {
  for (const [listener, route, expected] of cases) {
    Deno.test(`intersectHostnames of ${listener} and ${route}: "${quote}"`, () => {
      assert.equal(intersectHostnames(listener, route), expected);
    });
  }
}

// Gateway API, GatewaySpec.listeners.
const listeners = [
  "*",
  "*.example.com",
  "*.foo.example.com",
  "foo.example.com",
].sort(compareHostnames).map((hostname) => ({ hostname }));
const selections = [
  {
    quote:
      '"foo.example.com" takes precedence over "*.example.com", and "*.example.com" takes precedence over ""',
    cases: [
      ["foo.example.com", "foo.example.com"],
      ["bar.example.com", "*.example.com"],
      ["example.com", "*"],
      ["example.net", "*"],
    ],
  },
  {
    quote: '"*.foo.example.com" takes precedence over "*.example.com"',
    cases: [["bar.foo.example.com", "*.foo.example.com"]],
  },
  {
    quote:
      '"*.example.com" will match both "foo.bar.example.com" _and_ "bar.example.com"',
    cases: [
      ["foo.bar.example.com", "*.example.com"],
      ["bar.example.com", "*.example.com"],
    ],
  },
] as const;
for (const { quote, cases } of selections) {
  for (const [hostname, expected] of cases) {
    Deno.test(`selectListener selects ${expected} for ${hostname}: "${quote}"`, () => {
      assert.equal(selectListener(listeners, hostname)?.hostname, expected);
    });
  }
}

Deno.test("selectListener returns undefined when no hostname matches", () => {
  assert.equal(
    selectListener([{ hostname: "a.example" }], "b.example"),
    undefined,
  );
});
