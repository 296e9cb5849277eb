import assert from "node:assert/strict";
import { termsOf } from "../../../../src/mcp/discovery/search_terms.ts";
import { ToolIndex } from "../../../../src/mcp/discovery/tool_index.ts";
import { systemClock } from "../../../../src/base/clock.ts";

Deno.test("terms are parts of names without case and endings", () => {
  assert.deepEqual(termsOf("getHTTPResponses_v2"), [
    "get",
    "http",
    "respons",
    "v",
    "2",
  ]);
  for (
    const forms of [
      "create creates created creating",
      "query queries",
      "search searches searching",
      "stop stops stopped stopping",
      "convert converts converting",
      "generate generation generator",
    ]
  ) assert.equal(new Set(termsOf(forms)).size, 1, forms);
  assert.deepEqual(termsOf("what do I do with the PDF?"), ["pdf"]);
  assert.deepEqual(termsOf("天气预报"), ["天气", "气预", "预报"]);
});

Deno.test("a tool is found by a word that means the same, after those with the word itself", async () => {
  const tool = (name: string) => ({ server: "s", item: { name } });
  const index = await ToolIndex.create([
    tool("fetch_page"),
    tool("create_slides"),
    tool("get_pages"),
    tool("rotate_picture"),
  ], systemClock);
  const namesOf = (query: string) =>
    index.search(query).map(({ item: { name } }) => name);

  assert.deepEqual(namesOf("get a page"), ["get_pages", "fetch_page"]);
  assert.deepEqual(namesOf("a new PowerPoint"), ["create_slides"]);
  assert.deepEqual(namesOf("images"), ["rotate_picture"]);
});

Deno.test("names count more than descriptions, those more than parameters, and typing errors little", async () => {
  const tool = (name: string, description = "", parameter = "x") => ({
    server: "s",
    item: {
      name,
      description,
      inputSchema: { type: "object", properties: { [parameter]: {} } },
    },
  });
  const index = await ToolIndex.create([
    tool("other", "Something else."),
    tool("by_parameter", "", "forecast"),
    tool("by_description", "Returns the forecast."),
    tool("get_forecast"),
  ], systemClock);
  const namesOf = (query: string) =>
    index.search(query).map(({ item: { name } }) => name);

  const expected = ["get_forecast", "by_description", "by_parameter"];
  assert.deepEqual(namesOf("forecasts"), expected);
  assert.deepEqual(namesOf("forcast"), expected);
  assert.deepEqual(namesOf("zebra"), []);
  assert.deepEqual(namesOf(""), []);
});
