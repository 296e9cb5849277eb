import assert from "node:assert/strict";
import type { HttpMatch } from "../../../src/api/rules/http_match.ts";
import { createRouteTable } from "../../../src/route/route_table.ts";
import type { RoutableRequest } from "../../../src/route/route_match.ts";
import { processorTime } from "../../harness/time/processor_time.ts";
import { exact, pattern, prefix, regex, request, values } from "./routing.ts";

interface Case {
  /** Text of the Gateway API specification, or ours where it leaves the choice open. */
  readonly quote: string;
  readonly rules: Readonly<Record<string, readonly HttpMatch[]>>;
  readonly expected: readonly (readonly [
    Parameters<typeof request>[0],
    string | undefined,
  ])[];
}

const cases: Case[] = [
  {
    quote:
      "an exact path match on `/abc` will only match requests to `/abc`, NOT `/abc/`, `/Abc`, or `/abcd`",
    rules: { abc: [exact("/abc")] },
    expected: [
      [{ target: "/abc" }, "abc"],
      [{ target: "/abc?x=1" }, "abc"],
      [{ target: "/abc/" }, undefined],
      [{ target: "/Abc" }, undefined],
      [{ target: "/abcd" }, undefined],
    ],
  },
  {
    quote:
      "the paths `/abc`, `/abc/`, and `/abc/def` would all match the prefix `/abc`, but the path `/abcd` would not",
    rules: { abc: [prefix("/abc")] },
    expected: [
      [{ target: "/abc" }, "abc"],
      [{ target: "/abc/" }, "abc"],
      [{ target: "/abc/def" }, "abc"],
      [{ target: "/abc?x" }, "abc"],
      [{ target: "/abcd" }, undefined],
      [{ target: "/ABC" }, undefined],
    ],
  },
  {
    quote: "When specified, a trailing `/` is ignored",
    rules: { abc: [prefix("/abc/")] },
    expected: [
      [{ target: "/abc" }, "abc"],
      [{ target: "/abc/def" }, "abc"],
      [{ target: "/abcd" }, undefined],
    ],
  },
  {
    quote:
      'a prefix path match on "/", which has the effect of matching every HTTP request',
    rules: { all: [prefix("/")] },
    expected: [
      [{ target: "/" }, "all"],
      [{ target: "/a/b" }, "all"],
      [{ target: "//" }, "all"],
      [{ target: "*", method: "OPTIONS" }, "all"],
    ],
  },
  {
    quote:
      "path prefixed with `/foo` AND contains the header `version: v2`, path prefix of `/v2/foo`",
    rules: {
      foo: [
        prefix("/foo", { headers: values({ version: "v2" }) }),
        prefix("/v2/foo"),
      ],
    },
    expected: [
      [{ target: "/foo", headers: { version: "v2" } }, "foo"],
      [{ target: "/foo", headers: { version: "v1" } }, undefined],
      [{ target: "/foo" }, undefined],
      [{ target: "/v2/foo" }, "foo"],
    ],
  },
  {
    quote: 'precedence must be given to the match having: * "Exact" path match',
    rules: { prefix: [prefix("/a/b")], exact: [exact("/a/b")] },
    expected: [[{ target: "/a/b" }, "exact"], [{ target: "/a/b/c" }, "prefix"]],
  },
  {
    quote: '* "Prefix" path match with largest number of characters',
    rules: { root: [prefix("/")], a: [prefix("/a")], ab: [prefix("/a/b")] },
    expected: [
      [{ target: "/a/b/c" }, "ab"],
      [{ target: "/a/bc" }, "a"],
      [{ target: "/ab" }, "root"],
    ],
  },
  {
    quote: "* Method match",
    rules: {
      headers: [prefix("/", { headers: values({ a: "1", b: "2" }) })],
      method: [prefix("/", { method: "POST" })],
    },
    expected: [
      [{ method: "POST", headers: { a: "1", b: "2" } }, "method"],
      [{ method: "GET", headers: { a: "1", b: "2" } }, "headers"],
      [{ method: "GET" }, undefined],
    ],
  },
  {
    quote: "* Largest number of header matches",
    rules: {
      query: [
        prefix("/", {
          headers: values({ a: "1" }),
          queryParams: values({ q: "1", r: "1" }),
        }),
      ],
      headers: [prefix("/", { headers: values({ a: "1", b: "2" }) })],
    },
    expected: [
      [{ target: "/?q=1&r=1", headers: { a: "1", b: "2" } }, "headers"],
      [{ target: "/?q=1&r=1", headers: { a: "1" } }, "query"],
    ],
  },
  {
    quote: "* Largest number of query param matches",
    rules: {
      one: [prefix("/", { queryParams: values({ a: "1" }) })],
      two: [prefix("/", { queryParams: values({ a: "1", b: "2" }) })],
    },
    expected: [
      [{ target: "/?b=2&a=1" }, "two"],
      [{ target: "/?a=1" }, "one"],
    ],
  },
  {
    quote:
      "a longer prefix takes precedence over all other conditions of a shorter one",
    rules: {
      short: [prefix("/a", { method: "GET", headers: values({ a: "1" }) })],
      long: [prefix("/a/b")],
    },
    expected: [[{ target: "/a/b", headers: { a: "1" } }, "long"]],
  },
  {
    quote:
      "a shorter prefix applies when other conditions of a longer one do not hold",
    rules: {
      short: [prefix("/a")],
      long: [prefix("/a/b", { method: "POST" })],
    },
    expected: [[{ target: "/a/b/c" }, "short"]],
  },
  {
    quote:
      "The precedence of RegularExpression path matches are implementation-specific: after exact paths and prefixes, longer first",
    rules: {
      short: [regex("/v.*")],
      long: [regex("/v[0-9]+/.*")],
      prefix: [prefix("/v1/chat")],
    },
    expected: [
      [{ target: "/v1/chat/x" }, "prefix"],
      [{ target: "/v1/models" }, "long"],
      [{ target: "/vx" }, "short"],
    ],
  },
  {
    quote: "a regular expression must match the whole path, without the query",
    rules: { regex: [regex("/v1|/v2")] },
    expected: [
      [{ target: "/v1" }, "regex"],
      [{ target: "/v2?x=/v3" }, "regex"],
      [{ target: "/v1/x" }, undefined],
      [{ target: "/x/v2" }, undefined],
    ],
  },
  {
    quote:
      "If ties still exist within an HTTPRoute, matching precedence MUST be granted to the FIRST matching rule (in list order)",
    rules: { first: [prefix("/a")], second: [prefix("/a")] },
    expected: [[{ target: "/a" }, "first"]],
  },
  {
    quote: "Name matching MUST be case-insensitive",
    rules: {
      header: [prefix("/", { headers: values({ "X-Version": "v2" }) })],
    },
    expected: [
      [{ headers: { "x-version": "v2" } }, "header"],
      [{ headers: { "x-version": "V2" } }, undefined],
    ],
  },
  {
    quote:
      "If multiple entries specify equivalent header names, only the first entry with an equivalent name MUST be considered",
    rules: {
      header: [
        prefix("/", {
          headers: [...values({ foo: "1" }), ...values({ Foo: "2" })],
        }),
      ],
    },
    expected: [[{ headers: { foo: "1" } }, "header"], [{
      headers: { foo: "2" },
    }, undefined]],
  },
  {
    quote: "a header pattern must match the whole value",
    rules: { header: [prefix("/", { headers: pattern("x", "v[0-9]") })] },
    expected: [
      [{ headers: { x: "v1" } }, "header"],
      [{ headers: { x: "v12" } }, undefined],
      [{}, undefined],
    ],
  },
  {
    quote:
      "Name is the name of the HTTP query param to be matched. This must be an exact string match",
    rules: {
      query: [prefix("/", { queryParams: values({ Animal: "whale" }) })],
    },
    expected: [
      [{ target: "/?Animal=whale" }, "query"],
      [{ target: "/?animal=whale" }, undefined],
      [{ target: "/?Animal=whales" }, undefined],
      [{ target: "/" }, undefined],
    ],
  },
  {
    quote:
      "it is *recommended* that implementations should match against the first value of the param",
    rules: { query: [prefix("/", { queryParams: values({ a: "1" }) })] },
    expected: [
      [{ target: "/?a=1&a=2" }, "query"],
      [{ target: "/?a=2&a=1" }, undefined],
    ],
  },
  {
    quote: "a query pattern must match the whole value",
    rules: { query: [prefix("/", { queryParams: pattern("a", "[0-9]+") })] },
    expected: [[{ target: "/?a=12" }, "query"], [
      { target: "/?a=12x" },
      undefined,
    ]],
  },
  {
    quote:
      "this route will be matched only if the request has the specified method",
    rules: { post: [prefix("/", { method: "POST" })] },
    expected: [[{ method: "POST" }, "post"], [{ method: "post" }, undefined]],
  },
];

for (const { quote, rules, expected } of cases) {
  Deno.test(`route table: "${quote}"`, () => {
    const table = createRouteTable(
      Object.entries(rules).map(([value, matches]) => ({
        hostnames: [],
        matches,
        value,
      })),
    );
    for (const [fields, winner] of expected) {
      assert.equal(
        table.find(request(fields))?.value,
        winner,
        JSON.stringify(fields),
      );
    }
  });
}

const hosts = [
  {
    quote:
      "precedence must be given to rules from the HTTPRoute with the largest number of characters in a matching " +
      "non-wildcard hostname, characters in a matching hostname",
    hostname: "a.b.example.com",
    expected: "a.b.example.com",
  },
  {
    quote: "the longer wildcard",
    hostname: "x.b.example.com",
    expected: "*.b.example.com",
  },
  {
    quote: "the only wildcard",
    hostname: "b.example.com",
    expected: "*.example.com",
  },
  {
    quote: "`*.example.com` would match […] but not `example.com`",
    hostname: "example.com",
    expected: "*",
  },
] as const;
for (const { quote, hostname, expected } of hosts) {
  Deno.test(`route table routes ${hostname} to ${expected}: "${quote}"`, () => {
    const table = createRouteTable(
      ["*", "*.example.com", "*.b.example.com", "a.b.example.com"].map((
        value,
      ) => ({
        hostnames: value === "*" ? [] : [value],
        matches: [prefix("/")],
        value,
      })),
    );
    assert.equal(table.find(request({ hostname }))?.value, expected);
  });
}

Deno.test("route table falls back to less specific hosts when no path of a specific one matches", () => {
  const table = createRouteTable([
    { hostnames: ["a.example.com"], matches: [prefix("/a")], value: "exact" },
    {
      hostnames: ["*.example.com"],
      matches: [prefix("/b")],
      value: "wildcard",
    },
    { hostnames: [], matches: [prefix("/c")], value: "all" },
  ]);
  const find = (target: string) =>
    table.find(request({ hostname: "a.example.com", target }))?.value;
  assert.deepEqual([find("/a"), find("/b"), find("/c"), find("/d")], [
    "exact",
    "wildcard",
    "all",
    undefined,
  ]);
});

Deno.test("route table prefers a specific host over a specific path", () => {
  const table = createRouteTable([
    { hostnames: [], matches: [exact("/a")], value: "path" },
    { hostnames: ["example.com"], matches: [prefix("/")], value: "host" },
  ]);
  assert.equal(table.find(request({ target: "/a" }))?.value, "host");
});

const prefixes = [
  ["/v1", "/v1/chat", "/v1"],
  ["/v1/", "/v1/chat", "/v1"],
  ["/", "/v1", ""],
  ["/%7Euser", "/~user/x", "/~user"],
] as const;
for (const [path, target, matchedPrefix] of prefixes) {
  Deno.test(`route table reports prefix "${matchedPrefix}" for ${path} and ${target}`, () => {
    const table = createRouteTable([{
      hostnames: [],
      matches: [prefix(path)],
      value: 1,
    }]);
    assert.deepEqual(table.find(request({ target })), {
      value: 1,
      matchedPrefix,
    });
  });
}

Deno.test("route table reports no prefix for exact and pattern matches", () => {
  const table = createRouteTable([{
    hostnames: [],
    matches: [exact("/a"), regex("/b")],
    value: 1,
  }]);
  const find = (fields: RoutableRequest) => table.find(fields)?.matchedPrefix;
  assert.equal(find(request({ target: "/a" })), undefined);
  assert.equal(find(request({ target: "/b" })), undefined);
});

Deno.test("candidates yields the routes of a host and of matching wildcards", () => {
  const table = createRouteTable([
    { hostnames: ["a.example.com"], matches: [prefix("/a")], value: "exact" },
    { hostnames: ["*.example.com"], matches: [exact("/b")], value: "wildcard" },
    { hostnames: ["*.com"], matches: [regex("/c.*")], value: "wider" },
    { hostnames: [], matches: [prefix("/")], value: "any" },
    { hostnames: ["b.example.com"], matches: [prefix("/")], value: "other" },
  ]);

  const found = [...table.candidates("a.example.com")];

  assert.deepEqual(found, ["exact", "wildcard", "wider", "any"]);
});

Deno.test("route table reads a long query once, however many routes have conditions on it", () => {
  const table = createRouteTable(
    Array.from({ length: 20_000 }, (_, index) => ({
      hostnames: [],
      matches: [{
        path: { type: "PathPrefix", value: "/" } as const,
        queryParams: [
          {
            type: "Exact",
            name: "tenant",
            value: String(index),
          } as const,
        ],
      }],
      value: index,
    })),
  );
  const target = `/a?${"x=1&".repeat(2000)}tenant=19999`;

  const ms = processorTime(() => {
    const found = table.find(request({ target }));
    assert.equal(found?.value, 19_999);
  });

  assert.ok(ms < 100, `${ms} ms`);
});
