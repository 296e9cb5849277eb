import assert from "node:assert/strict";
import type { HttpMatch } from "../../../src/api/rules/http_match.ts";
import {
  compareHostnames,
  matchesHostname,
} from "../../../src/route/hostname.ts";
import { runToEnd } from "../../../src/base/slices.ts";
import { readQuery } from "../../../src/route/query_parameter.ts";
import {
  createRouteTable,
  createRouteTableInSteps,
  type RouteEntry,
  RouteTableMemory,
} from "../../../src/route/route_table.ts";
import type { RoutableRequest } from "../../../src/route/route_match.ts";
import { request } from "./routing.ts";
import { fc } from "../../harness/parsers/properties.ts";

const hostname = fc.constantFrom(
  "*",
  "*.com",
  "*.b.com",
  "b.com",
  "a.b.com",
  "c.a.b.com",
);
const path = fc.array(fc.constantFrom("a", "b", "ab", ""), { maxLength: 3 })
  .map((segments) => "/" + segments.join("/"));
const condition = fc.record({
  name: fc.constantFrom("x", "y"),
  type: fc.constant("Exact" as const),
  value: fc.constantFrom("1", "2"),
});
const match: fc.Arbitrary<HttpMatch> = fc.record({
  path: fc.oneof(
    fc.record({
      type: fc.constantFrom("Exact" as const, "PathPrefix" as const),
      value: path,
    }),
    fc.record({
      type: fc.constant("RegularExpression" as const),
      value: fc.constantFrom("/.*", "/a.*", "/[ab]/b?"),
    }),
  ),
  method: fc.constantFrom("GET" as const, "POST" as const),
  headers: fc.uniqueArray(condition, {
    selector: ({ name }) => name,
    maxLength: 2,
  }),
  queryParams: fc.uniqueArray(condition, {
    selector: ({ name }) => name,
    maxLength: 2,
  }),
}, { requiredKeys: ["path"] });
const entries = fc.array(
  fc.record({
    hostnames: fc.uniqueArray(hostname, { maxLength: 2 }),
    matches: fc.array(match, { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 12 },
).map((list) => list.map((entry, value) => ({ ...entry, value })));
const requests = fc.record({
  method: fc.constantFrom("GET", "POST"),
  hostname: fc.constantFrom("b.com", "a.b.com", "c.a.b.com", "x.com", "x"),
  target: fc.tuple(path, fc.constantFrom("", "?x=1", "?x=1&y=2", "?y=1&x=2"))
    .map((parts) => parts.join("")),
  headers: fc.constantFrom<Record<string, string>>({}, { x: "1" }, {
    x: "1",
    y: "2",
  }),
}).map(request);

/** Sorts all matches of all rules as the Gateway API specifies and returns the first that the request satisfies. */
function findByScanning(
  rules: readonly RouteEntry<number>[],
  candidate: RoutableRequest,
): number | undefined {
  const candidates = rules.flatMap(({ hostnames, matches, value }) =>
    (hostnames.length > 0 ? hostnames : ["*"]).flatMap((host) =>
      matches.map((match, index) => ({ host, match, value, index }))
    )
  );
  const rank = { Exact: 0, PathPrefix: 1, RegularExpression: 2 };
  candidates.sort((a, b) =>
    compareHostnames(a.host, b.host) ||
    rank[a.match.path.type] - rank[b.match.path.type] ||
    characters(b.match) - characters(a.match) ||
    Number(b.match.method !== undefined) -
      Number(a.match.method !== undefined) ||
    (b.match.headers?.length ?? 0) - (a.match.headers?.length ?? 0) ||
    (b.match.queryParams?.length ?? 0) - (a.match.queryParams?.length ?? 0) ||
    a.value - b.value || a.index - b.index
  );
  return candidates.find(({ host, match }) =>
    matchesHostname(host, candidate.hostname) && satisfies(match, candidate)
  )?.value;
}

function characters({ path: { type, value } }: HttpMatch): number {
  return type === "PathPrefix" ? value.replace(/\/$/, "").length : value.length;
}

function satisfies(
  { path: { type, value }, method, headers, queryParams }: HttpMatch,
  candidate: RoutableRequest,
): boolean {
  const [path = "", query = ""] = candidate.target.split("?");
  const prefix = value.replace(/\/$/, "");
  const isPathMatch = type === "Exact"
    ? path === value
    : type === "PathPrefix"
    ? path === prefix || path.startsWith(prefix + "/")
    : new RegExp(`^(?:${value})$`).test(path);
  return isPathMatch && (method === undefined || method === candidate.method) &&
    (headers ?? []).every(({ name, value }) =>
      candidate.header(name) === value
    ) &&
    (queryParams ?? []).every(({ name, value }) =>
      readQuery(query).get(name) === value
    );
}

Deno.test("route table finds the same match as a scan over all sorted matches", () => {
  fc.assert(
    fc.property(
      entries,
      fc.array(requests, { maxLength: 20 }),
      (rules, sample) => {
        const table = createRouteTable(rules);
        for (const each of sample) {
          assert.equal(table.find(each)?.value, findByScanning(rules, each));
        }
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("route tables that share parts with earlier ones find the same match as a scan", () => {
  fc.assert(
    fc.property(
      entries,
      fc.array(fc.array(fc.nat(20), { maxLength: 8 }), { maxLength: 5 }),
      fc.array(requests, { maxLength: 10 }),
      (pool, selections, sample) => {
        const memory = new RouteTableMemory<number>();
        for (const selection of selections) {
          const rules = [...new Set(selection)].flatMap((index) =>
            pool[index] ?? []
          );
          const table = runToEnd(createRouteTableInSteps(rules, memory));
          for (const each of sample) {
            assert.equal(table.find(each)?.value, findByScanning(rules, each));
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("the index of a hostname stays the same object while its entries do", () => {
  const memory = new RouteTableMemory<string>();
  const [a, b] = ["a", "b"].map((value) => ({
    hostnames: [],
    matches: [{ path: { type: "Exact" as const, value: `/${value}` } }],
    value,
  }));
  assert(a !== undefined && b !== undefined);
  const listOf = (...rules: readonly RouteEntry<string>[]) =>
    rules.flatMap((rule) => memory.candidatesOf(rule));
  const index = memory.indexOf("h", listOf(a, b));
  assert.equal(memory.indexOf("h", listOf(a, b)), index);
  assert.notEqual(memory.indexOf("other", listOf(a)), index);
  assert.notEqual(memory.indexOf("h", listOf(a)), index);
});
