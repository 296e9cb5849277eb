import assert from "node:assert/strict";
import { ProviderTools } from "../../../../src/llm/usage/provider_tools.ts";
import { bytesOf, namedEvents } from "../llm_responses.ts";

function toolsOf(
  ...events: readonly { readonly type: string }[]
): ProviderTools {
  const tools = new ProviderTools();
  tools.addEvents(bytesOf(namedEvents(...events)));
  return tools;
}

function result(bytes: number) {
  const type = "web_search_tool_result";
  return {
    type: "content_block_start",
    content_block: { type, content: "x".repeat(bytes) },
  };
}

function run(type: string) {
  return { type: `response.${type}.completed` };
}

Deno.test("Anthropic bills the conversation again for each result", () => {
  const added = toolsOf(result(35_000), { type: "ping" }, result(35_000))
    .addedTo(1000);
  assert(Math.abs(added - (2 * 1000 + 10_000 + 20_000)) < 200, `${added}`);
});

for (
  const [runs, tokens] of [
    [["web_search_call"], 8600],
    [["web_search_call", "web_search_call"], 13_200],
    [["mcp_list_tools", "mcp_call"], 1200],
    [["code_interpreter_call"], 1300],
    [["output_text", "function_call"], 0],
  ] as const
) {
  Deno.test(`${runs.join(" and ")} of OpenAI add ${tokens} tokens`, () => {
    assert.equal(toolsOf(...runs.map(run)).addedTo(1000), tokens);
  });
}

Deno.test("text of a model that looks like a tool adds nothing", () => {
  const text = '{"type":"web_search_tool_result"} response.mcp_call.completed"';
  const tools = toolsOf({
    type: "content_block_delta",
    ...{ delta: { text } },
  });
  assert.equal(tools.addedTo(1000), 0);
});

Deno.test("what was reported is not estimated", () => {
  const tools = toolsOf(result(1000), run("web_search_call"));
  tools.reset();
  assert.equal(tools.addedTo(1000), 0);
});
