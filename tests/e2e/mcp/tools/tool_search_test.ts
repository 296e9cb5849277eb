/** Endpoints whose clients search for tools. */
import assert from "node:assert/strict";
import { objectSchema, text } from "../../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../../cli/dev/mcp_server.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { clientV2 } from "../../../harness/clients/mcp_clients.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { callModern, listTools } from "../../../harness/mcp/modern_call.ts";
import { startOneEra } from "../../../harness/mcp/one_era.ts";

/** A server with tools that return their names. */
function startServer(tools: Readonly<Record<string, string>>) {
  const server = startMcpServer({
    offer: {
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, description]) => [name, {
          description,
          inputSchema: objectSchema(),
          call: () => [text(`called ${name}`)],
        }]),
      ),
      prompts: {},
      resources: [],
      resourceTemplates: [],
      readResource: () => undefined,
      completeArgument: () => [],
    },
  });
  return {
    url: `${server.origin}/mcp`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function startSearch(more: JsonObject = {}, policies: JsonObject = {}) {
  const stack = new AsyncDisposableStack();
  const docs = stack.use(startServer({
    read_page: "Returns a page of the handbook as Markdown.",
    delete_page: "Removes a page from the handbook.",
  }));
  const weather = stack.use(startServer({
    getForecast: "Weather of the next days at a place.",
    search_tools: "A tool with a name of the gateway.",
  }));
  const old = stack.use(startOneEra(weather.url, "legacy"));
  const { config, prefix = "weather", ...mcp } = more;
  const gateway = stack.use(
    await startTestGateway({
      ...(config !== undefined && { config }),
      routes: [{
        policies,
        backends: [{
          mcp: {
            discovery: "Search",
            servers: [
              { name: "docs", url: docs.url },
              { name: "weather", url: old.url, prefix },
            ],
            ...mcp,
          },
        }],
      }],
    }),
  );
  return {
    url: `${gateway.origin}/mcp`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Returns the names that a search finds, by query. */
async function search(
  url: string,
  queries: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const { result } = await callModern(url, "tools/call", {
    name: "search_tools",
    arguments: { queries },
  });
  const { results } = JSON.parse(result.content[0].text);
  return results.map(({ tools }: { tools: readonly { name: string }[] }) =>
    tools.map(({ name }) => name)
  );
}

Deno.test("the list has three tools and what is pinned, and all others are found, described and called", async () => {
  await using gateway = await startSearch({
    pinned: ["docs_read*", "search_*"],
    prefix: "",
  });
  const { url } = gateway;

  const names = await listTools(url);
  const found = await search(url, ["what will the weather be?", "read pages"]);
  const described = await callModern(url, "tools/call", {
    name: "describe_tools",
    arguments: { names: ["getForecast", "nothing"] },
  });
  const called = await callModern(url, "tools/call", {
    name: "call_tool",
    arguments: { name: "getForecast", arguments: {} },
  });
  const direct = await callModern(url, "tools/call", {
    name: "docs_delete_page",
  });

  assert.deepEqual(names, [
    "search_tools",
    "describe_tools",
    "call_tool",
    "docs_read_page",
  ]);
  assert.deepEqual(found[0], ["getForecast"]);
  assert.equal(found[1]?.[0], "docs_read_page");
  const { tools, notFoundOrTooLong } = JSON.parse(
    described.result.content[0].text,
  );
  assert.deepEqual([tools[0].name, tools.length], ["getForecast", 1]);
  assert.deepEqual(tools[0].inputSchema.type, "object");
  assert.deepEqual(notFoundOrTooLong, ["nothing"]);
  assert.equal(called.result.content[0].text, "called getForecast");
  assert.equal(direct.result.content[0].text, "called delete_page");
});

Deno.test("wrong arguments are results that models can read", async () => {
  await using gateway = await startSearch();
  const call = async (name: string, args: JsonObject) =>
    (await callModern(gateway.url, "tools/call", { name, arguments: args }))
      .text;

  assert.match(await call("search_tools", {}), /"isError":true/);
  assert.match(
    await call("search_tools", { queries: ["a"], limit: 1000 }),
    /from 1 to 50/,
  );
  assert.match(await call("describe_tools", { names: [1] }), /list of 1 to 20/);
  assert.match(await call("call_tool", {}), /must be the name of a tool/);
  assert.match(
    await call("call_tool", { name: "call_tool", arguments: { name: "x" } }),
    /must be the name of a tool/,
  );
  assert.match(await call("call_tool", { name: "no" }), /Unknown tool: no/);
});

for (const config of [{}, { workers: 2 }]) {
  Deno.test(`rules decide about the tool within call_tool, and a search finds what they allow, with ${JSON.stringify(config)}`, async () => {
    await using gateway = await startSearch({ config }, {
      authorization: {
        denial: "JsonRpc",
        policy: {
          matchExpressions: [
            "!has(mcp.tool) || mcp.tool.name != 'docs_delete_page'",
            "!has(mcp.tool) || mcp.server == 'docs' || mcp.tool.arguments.place != 'secret'",
          ],
        },
      },
    });
    const { url } = gateway;
    const call = async (args: JsonObject) =>
      (await callModern(url, "tools/call", {
        name: "call_tool",
        arguments: args,
      })).text;

    assert.equal((await listTools(url)).length, 3);
    const [pages] = await search(url, ["pages of the handbook"]);
    assert.deepEqual(pages, ["docs_read_page"]);
    const described = await callModern(url, "tools/call", {
      name: "describe_tools",
      arguments: { names: ["docs_delete_page", "docs_read_page"] },
    });
    assert.match(described.text, /notFoundOrTooLong.*docs_delete_page/);
    assert.match(await call({ name: "docs_read_page" }), /called read_page/);
    assert.match(await call({ name: "docs_delete_page" }), /is not allowed/);
    assert.match(
      await call({
        name: "weather_getForecast",
        arguments: { place: "secret" },
      }),
      /is not allowed/,
    );
    assert.match(
      await call({ name: "weather_getForecast", arguments: { place: "here" } }),
      /called getForecast/,
    );
    assert.match(await call({ name: ["docs_delete_page"] }), /is not allowed/);
    // Clients with a session may reach another worker.
    for (let visit = 0; visit < 4; visit++) {
      await using client = await clientV2.connect({ url });
      const result = await client.callTool("search_tools", {
        queries: ["pages of the handbook"],
      });
      assert.match(result, /docs_read_page/);
      assert.doesNotMatch(result, /docs_delete_page/);
    }
  });
}

Deno.test("limits count the tool within call_tool", async () => {
  await using gateway = await startSearch({}, {
    rateLimit: {
      local: [{
        key: "mcp.tool.name",
        requests: 1,
        unit: "Hours",
        when: "has(mcp.tool)",
      }],
    },
  });
  const call = async (name: string) =>
    (await callModern(gateway.url, "tools/call", {
      name: "call_tool",
      arguments: { name },
    })).status;

  assert.deepEqual([
    await call("weather_getForecast"),
    await call("docs_read_page"),
    await call("weather_getForecast"),
  ], [200, 200, 429]);
});
