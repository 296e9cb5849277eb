import assert from "node:assert/strict";
import {
  EvaluationFailure,
  UNKNOWN,
} from "../../../../src/policy/cel/evaluation_failure.ts";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";
import { unknownField } from "../../../../src/policy/cel/plan.ts";
import { claimsValue } from "../../../../src/policy/cel/values.ts";

const variables = {
  mcp: claimsValue({ tool: { name: "a", arguments: { n: 1 } } }),
  jwt: claimsValue({ roles: ["r"] }),
};

function test(text: string): boolean | string {
  const expression = compileExpression(text);
  assert.ok(expression instanceof Expression);
  const field = ["mcp", "tool", "arguments"] as const;
  const result = expression.planPartially(unknownField(field))(variables);
  if (result === UNKNOWN) return "unknown";
  return result instanceof EvaluationFailure ? "error" : result;
}

for (
  const [text, expected] of [
    ["mcp.tool.name == 'a'", true],
    ["has(mcp.tool)", true],
    ["has(mcp.tool.name)", true],
    ["mcp.tool.arguments.n == 1", "unknown"],
    ["mcp.tool['arguments']['n'] == 1", "unknown"],
    ["has(mcp.tool.arguments)", "unknown"],
    ["has(mcp.tool.arguments.n)", "unknown"],
    ["!has(mcp.tool.arguments.n)", "unknown"],
    ["toJson(mcp.tool) == ''", "unknown"],
    ["mcp.exists(k, k == 'tool')", "unknown"],
    ["mcp.tool[jwt.roles[0]] == 1", "unknown"],
    ["false && mcp.tool.arguments.n == 1", false],
    ["mcp.tool.arguments.n == 1 && false", false],
    ["true && mcp.tool.arguments.n == 1", "unknown"],
    ["true || mcp.tool.arguments.n == 1", true],
    ["mcp.tool.arguments.n == 1 || true", true],
    ["false || mcp.tool.arguments.n == 1", "unknown"],
    ["jwt.none == 1", "error"],
    ["jwt.none == 1 || mcp.tool.arguments.n == 1", "unknown"],
    ["jwt.none == 1 && mcp.tool.arguments.n == 1", "unknown"],
    ["jwt.none == 1 && true", "error"],
    ["has(jwt.roles) ? true : mcp.tool.arguments.n == 1", true],
    ["has(jwt.none) ? true : mcp.tool.arguments.n == 1", "unknown"],
    ["mcp.tool.arguments.n == 1 ? true : true", "unknown"],
    [
      "['a', 'b'].exists(x, x == mcp.tool.name || x == mcp.tool.arguments.n)",
      true,
    ],
    [
      "['b', 'c'].exists(x, x == mcp.tool.name || x == mcp.tool.arguments.n)",
      "unknown",
    ],
    [
      "['a', 'b'].all(x, x == mcp.tool.name && x == mcp.tool.arguments.n)",
      false,
    ],
    ["mcp.tool.arguments.list.exists(x, x == 1)", "unknown"],
    ["'n' in mcp.tool.arguments", "unknown"],
    // A name that a macro introduces is no variable.
    ["[{'tool': {'arguments': 1}}].all(mcp, mcp.tool.arguments == 1)", true],
  ] as const
) {
  Deno.test(`without the arguments, ${text} is ${expected}`, () => {
    assert.equal(test(text), expected);
  });
}

Deno.test("an author cannot write an unknown value", () => {
  assert.ok(!(compileExpression("@unknown()") instanceof Expression));
});
