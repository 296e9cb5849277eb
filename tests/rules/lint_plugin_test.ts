import assert from "node:assert/strict";
import { plugin } from "./lint_plugin.ts";
import { readFile, repositoryFiles, root } from "./repository.ts";

function diagnose(path: string, source: string): Deno.lint.Diagnostic[] {
  return Deno.lint.runPlugin(plugin, new URL(path, root).pathname, source);
}

function lint(path: string, source: string): string[] {
  return diagnose(path, source).map(({ id }) => id);
}

Deno.test("every file follows the lint rules of the repository", async () => {
  const problems: string[] = [];
  for (const path of await repositoryFiles()) {
    if (!/\.(ts|tsx|js)$/.test(path)) continue;
    const source = await readFile(path);
    for (const { id, message, range: [start] } of diagnose(path, source)) {
      const line = source.slice(0, start).split("\n").length;
      problems.push(`${path}:${line}: ${id}: ${message}`);
    }
  }

  assert.deepEqual(problems, []);
});

const rejected = [
  {
    rule: "short-functions",
    path: "src/http/pool.ts",
    source: `function grow() {${"\n".repeat(60)}}`,
  },
  {
    rule: "short-functions",
    path: "admin/ui/page/main.tsx",
    source: `function Page() {${"\n".repeat(60)}}`,
  },
  {
    rule: "no-ambient-clock",
    path: "src/http/pool.ts",
    source: "const t = Date.now();",
  },
  {
    rule: "no-ambient-clock",
    path: "src/http/pool.ts",
    source: "const t = performance.now();",
  },
  {
    rule: "no-ambient-clock",
    path: "admin/admin_server.ts",
    source: "const t = new Date();",
  },
  {
    rule: "no-ambient-clock",
    path: "cli/main.ts",
    source: "const t = Date();",
  },
  { rule: "no-ambient-clock", path: "cli/main.ts", source: "use(Date.now);" },
  {
    rule: "no-status-literal",
    path: "src/proxy/pipeline.ts",
    source: "send({ status: 404 });",
  },
  {
    rule: "no-status-literal",
    path: "src/proxy/pipeline.ts",
    source: "send({ 'status': 502 });",
  },
  {
    rule: "no-status-literal",
    path: "src/policy/http/cors.ts",
    source: "new Response(null, { status: 503 });",
  },
  {
    rule: "no-status-literal",
    path: "src/http/server.ts",
    source: "response.statusCode = 400;",
  },
  {
    rule: "no-status-literal",
    path: "src/http/server.ts",
    source: "function f() { const status = 431; }",
  },
  {
    rule: "no-status-literal",
    path: "src/http/server.ts",
    source: "function f(status = 431) {}",
  },
  {
    rule: "no-status-literal",
    path: "src/http/server.ts",
    source: "stream.respondWith(408);",
  },
  {
    rule: "no-private-keyword",
    path: "src/http/pool.ts",
    source: "class Pool { private size = 1; }",
  },
  {
    rule: "no-private-keyword",
    path: "tests/harness/fake.ts",
    source: "class Fake { protected stop() {} }",
  },
  {
    rule: "no-private-keyword",
    path: "src/http/pool.ts",
    source: "class Pool { constructor(private size: number) {} }",
  },
  {
    rule: "no-top-level-arrow",
    path: "src/route/match.ts",
    source: "const match = () => true;",
  },
  {
    rule: "no-top-level-arrow",
    path: "src/route/match.ts",
    source: "export const match = async () => {};",
  },
  {
    rule: "no-top-level-arrow",
    path: "src/route/match.ts",
    source: "const match = function () {};",
  },
  {
    rule: "no-top-level-arrow",
    path: "src/route/match.ts",
    source: "const match = (() => true) satisfies Match;",
  },
  {
    rule: "no-type-assertion",
    path: "src/route/match.ts",
    source: "const name = value as string;",
  },
  {
    rule: "no-type-assertion",
    path: "src/route/match.ts",
    source: "const name = <string> value;",
  },
  {
    rule: "no-default-export",
    path: "src/route/match.ts",
    source: "export default function match() {}",
  },
  {
    rule: "camel-case-names",
    path: "src/route/match.ts",
    source: "const best_match = find();",
  },
  {
    rule: "camel-case-names",
    path: "src/route/match.ts",
    source: "function find_match() {}",
  },
  {
    rule: "camel-case-names",
    path: "tests/harness/fake.ts",
    source: "use((best_match) => best_match);",
  },
  {
    rule: "capital-constants",
    path: "src/route/match.ts",
    source: "const maxBytes = 64 * 1024;",
  },
  {
    rule: "capital-constants",
    path: "admin/admin_server.ts",
    source: "export const usage = `usage: ${name}`;",
  },
  {
    rule: "capital-constants",
    path: "cli/main.ts",
    source: "const TOKEN = /^[a-z]+$/;",
  },
  {
    rule: "capital-constants",
    path: "src/http/message.ts",
    source: "const METHODS = new Set(['GET']);",
  },
] as const;

for (const { rule, path, source } of rejected) {
  Deno.test(`${rule} rejects \`${source}\` in ${path}`, () => {
    assert.deepEqual(lint(path, source), [`house/${rule}`]);
  });
}

const accepted = [
  { path: "src/base/clock.ts", source: "const t = Date.now();" },
  { path: "src/http/pool.ts", source: "const t = clock.now();" },
  { path: "src/http/date.ts", source: "const t = new Date(at);" },
  { path: "admin/ui/page/main.tsx", source: "const t = Date.now();" },
  { path: "tests/bench/bench.ts", source: "const t = performance.now();" },
  {
    path: "src/proxy/request/respond.ts",
    source: "const table = { status: 404 };",
  },
  { path: "src/proxy/pipeline.ts", source: "send({ status: 200 });" },
  {
    path: "src/proxy/failover/retry.ts",
    source: "if (status === 503) retry();",
  },
  { path: "src/http/limits.ts", source: "const limits = { heads: 500 };" },
  {
    path: "admin/admin_server.ts",
    source: "new Response(null, { status: 404 });",
  },
  {
    path: "src/http/pool.ts",
    source: "class Pool { #size = 1; constructor(readonly name: string) {} }",
  },
  {
    path: "src/route/match.ts",
    source: "function match() { const inner = () => true; return inner; }",
  },
  { path: "src/route/match.ts", source: "const kinds = ['a', 'b'] as const;" },
  { path: "src/http/limits.ts", source: "const IDLE_MS = 60 * SECOND_MS;" },
  { path: "src/http/limits.ts", source: "const token = /^[a-z]+$/;" },
  { path: "src/base/decode.ts", source: "const name = value as string;" },
  {
    path: "tests/unit/route/match_test.ts",
    source: "const name = value as string;",
  },
];

for (const { path, source } of accepted) {
  Deno.test(`the lint rules accept \`${source}\` in ${path}`, () => {
    assert.deepEqual(lint(path, source), []);
  });
}
