import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { UNKNOWN } from "../../../../src/policy/cel/evaluation_failure.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";

function conditionOf(text: string) {
  const expression = compileExpression(text);
  assert.ok(expression instanceof Expression);
  return expression.scopeCondition();
}

const variables = {
  jwt: claimsValue({ sub: "anna", scopeNames: ["n1", "n2"] }),
  mcp: claimsValue({ tool: { name: "drop" } }),
};

for (
  const [text, claims, named] of [
    ["'a' in jwt.scope.split(' ')", ["scope"], ["a"]],
    ["'a' in jwt['scp'] || 'b' in jwt.scopes", ["scp", "scopes"], ["a", "b"]],
    ["has(jwt.scope)", ["scope"], []],
    ["jwt.scope.contains('write')", ["scope"], ["write"]],
    ["jwt.scope == 'a b'", ["scope"], ["a", "b"]],
    ["jwt.scope.split(' ').exists(s, s == 'a' || s == 'b')", ["scope"], [
      "a",
      "b",
    ]],
    ["jwt.scope.split(' ').exists(s, s in ['a', 'b'])", ["scope"], ["a", "b"]],
    ["['a', 'b'].all(s, s in jwt.scp)", ["scp"], ["a", "b"]],
    ["('tool:' + mcp.tool.name) in jwt.scp", ["scp"], ["tool:drop"]],
    ["jwt.scp.exists(s, s == 'tool:' + mcp.tool.name)", ["scp"], ["tool:drop"]],
    ["jwt.scopeNames.all(s, s in jwt.scp)", ["scp"], ["n1", "n2"]],
    ["mcp.tool.name == 'x' ? 'a' in jwt.scp : 'b' in jwt.scp", ["scp"], [
      "a",
      "b",
    ]],
    // Neither prefixes and separators are scopes, nor what is compared with something else.
    ["jwt.scope.split(' ').exists(s, s.startsWith('a:'))", ["scope"], []],
    ["jwt.scope.matches('a.*')", ["scope"], []],
    ["mcp.tool.name == 'x' || jwt.sub == 'y' && 'a' in jwt.scp", ["scp"], [
      "a",
    ]],
    ["jwt.none in jwt.scp", ["scp"], []],
    ["'a' in toJson(jwt).split(' ')", ["scope", "scp", "scopes"], ["a"]],
  ] as const
) {
  Deno.test(`${text} depends on ${claims} and names ${named}`, () => {
    const condition = conditionOf(text);

    assert.deepEqual(condition?.claims, claims);
    assert.deepEqual(condition?.namedScopes(variables), named);
  });
}

for (
  const text of [
    "'a' in jwt.roles",
    "'a' in request.headers.scope.split(' ')",
    "jwt.permissions.exists(scope, scope == 'a')",
    "true",
  ]
) {
  Deno.test(`${text} depends on no scopes`, () => {
    assert.equal(conditionOf(text), undefined);
  });
}

for (
  const [text, withoutScopes, scopesOnly] of [
    ["'a' in jwt.scp", UNKNOWN, false],
    ["'b' in jwt.scp", UNKNOWN, true],
    ["jwt.sub == 'anna' && 'a' in jwt.scp", UNKNOWN, false],
    ["jwt.sub == 'otto' && 'b' in jwt.scp", false, UNKNOWN],
    ["jwt.sub == 'anna' || 'a' in jwt.scp", true, UNKNOWN],
    ["mcp.tool.name != 'drop' || 'a' in jwt.scp", UNKNOWN, UNKNOWN],
    ["has(jwt.scp) ? 'a' in jwt.scp : true", UNKNOWN, false],
    ["'a' in jwt.scp && toJson(jwt) == ''", UNKNOWN, false],
  ] as const
) {
  Deno.test(`${text} is known or not, without the scopes and with nothing else`, () => {
    const condition = conditionOf(text);
    const jwt = claimsValue({ scp: ["b"] });

    assert.equal(condition?.testWithoutScopes(variables), withoutScopes);
    assert.equal(condition?.testScopesOnly({ jwt }), scopesOnly);
  });
}
