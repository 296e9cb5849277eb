import assert from "node:assert/strict";
import {
  compileExpression,
  Expression,
} from "../../../../src/policy/cel/expression.ts";

for (
  const [text, shape] of [
    ["mcp.tool.name == 'a'", undefined],
    ["mcp.tool.arguments.path == 'a'", { path: "whole" }],
    ["mcp.tool['arguments']['path'] == 'a'", { path: "whole" }],
    [
      "has(mcp.tool.arguments.a.b) && mcp.tool.arguments.c > 1",
      { a: { b: {} }, c: "whole" },
    ],
    ["has(mcp.tool) && mcp.tool.name != 'a'", undefined],
    ["has(mcp.tool.arguments)", {}],
    ["has(mcp.tool.arguments.a) && mcp.tool.arguments.a == 1", { a: "whole" }],
    ["mcp.tool.arguments.a.b == mcp.tool.arguments.a", { a: "whole" }],
    ["mcp.tool.arguments.list[0].x == 1", { list: "whole" }],
    ["mcp.tool.arguments[request.path] == 1", "whole"],
    ["'a' in mcp.tool.arguments.map", { map: "whole" }],
    ["mcp.tool.arguments.exists(k, k == 'a')", "whole"],
    ["[1].all(mcp, mcp == 1)", undefined],
    ["[1].all(x, mcp.tool.arguments.a == x)", { a: "whole" }],
    ["toJson(mcp.tool) == ''", "whole"],
    ["{'a': mcp} == {}", "whole"],
    ["mcp.tool.arguments.a.startsWith('x')", { a: "whole" }],
  ] as const
) {
  Deno.test(`of the arguments of a tool, ${text} reads ${JSON.stringify(shape)}`, () => {
    const expression = compileExpression(text);
    assert.ok(expression instanceof Expression);

    assert.deepEqual(expression.shapeAt(["mcp", "tool", "arguments"]), shape);
  });
}
