import assert from "node:assert/strict";
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { resultForEra } from "../../../../src/mcp/clients/revision_results.ts";
import { isSchema } from "../../../../src/mcp/servers/lists/item_members.ts";
import {
  listFacts,
  type ListKind,
  readItem,
} from "../../../../src/mcp/servers/lists/list_items.ts";
import type { JsonObject } from "../../../../src/base/json.ts";

const schemas = {
  tools: ListToolsResultSchema,
  prompts: ListPromptsResultSchema,
  resources: ListResourcesResultSchema,
};

/** Returns an item as clients until 2025-11-25 get it, which the SDK in TypeScript has to accept. */
function listed(
  kind: keyof typeof schemas,
  sent: JsonObject,
): unknown {
  const read = readItem(kind, sent);
  if (read === undefined) return undefined;
  const result = resultForEra("legacy", listFacts[kind].method, {
    [kind]: [read.item],
  });
  schemas[kind].parse(result);
  return (result[kind] as JsonObject[])[0];
}

function assertOmitted(
  kind: keyof typeof schemas,
  valid: JsonObject,
  invalid: readonly JsonObject[],
): void {
  for (const members of invalid) {
    assert.deepEqual(
      listed(kind, { ...valid, ...members }),
      valid,
      JSON.stringify(members),
    );
  }
}

const tool = { name: "t", inputSchema: { type: "object" } };

Deno.test("optional members of a tool that SDKs reject are omitted, and the tool is listed", () => {
  assertOmitted("tools", tool, [
    { title: null, description: 5, icons: null, execution: null, _meta: [] },
    { icons: [{}] },
    { icons: "x" },
    { annotations: null },
    { annotations: "x" },
    { outputSchema: null },
    { outputSchema: { type: "array" } },
    { outputSchema: { type: "object", properties: [] } },
    { outputSchema: { type: "object", required: "x" } },
  ]);
  assert.deepEqual(
    listed("tools", {
      ...tool,
      icons: [{ src: "data:", sizes: "48x48", theme: "blue" }],
      annotations: { readOnlyHint: null, title: 5, destructiveHint: false },
      execution: { taskSupport: "maybe" },
    }),
    {
      ...tool,
      icons: [{ src: "data:" }],
      annotations: { destructiveHint: false },
      execution: {},
    },
  );
});

Deno.test("a tool whose schema SDKs reject is not listed", () => {
  for (
    const inputSchema of [
      { type: ["object"] },
      { type: "object", properties: [] },
      { type: "object", properties: { a: "x" } },
      { type: "object", required: "x" },
      { type: "object", required: [1] },
      { type: "object", $schema: 1 },
    ]
  ) assert.equal(listed("tools", { ...tool, inputSchema }), undefined);
});

Deno.test("clients until 2025-11-25 get objects as schemas of properties", () => {
  const sent = { type: "object", properties: { a: true, b: false, c: {} } };
  const properties = { a: {}, b: { not: {} }, c: {} };
  assert.deepEqual(
    listed("tools", { ...tool, inputSchema: sent, outputSchema: sent }),
    {
      ...tool,
      inputSchema: { type: "object", properties },
      outputSchema: { type: "object", properties },
    },
  );
  const modern = resultForEra("modern", "tools/list", {
    tools: [{ ...tool, inputSchema: sent }],
  });
  assert.deepEqual(modern["tools"], [{ ...tool, inputSchema: sent }]);
  assert.ok(isSchema(sent));
});

Deno.test("optional members of prompts and resources that SDKs reject are omitted", () => {
  assertOmitted("prompts", { name: "p" }, [{ arguments: null, title: 5 }]);
  assert.deepEqual(
    listed("prompts", {
      name: "p",
      arguments: [{ name: "a", description: null, required: "yes" }],
    }),
    { name: "p", arguments: [{ name: "a" }] },
  );
  assertOmitted("resources", { name: "r", uri: "note://one" }, [
    { size: "big", mimeType: null },
    { size: 5.5 },
    { annotations: null },
  ]);
  assert.deepEqual(
    listed("resources", {
      name: "r",
      uri: "note://one",
      annotations: {
        audience: ["model"],
        priority: 5,
        lastModified: "yesterday",
      },
    }),
    { name: "r", uri: "note://one", annotations: {} },
  );
});

Deno.test("prompts without valid arguments, and resources without a URI, are not listed", () => {
  const invalid: readonly (readonly [ListKind, JsonObject])[] = [
    ["prompts", { name: "p", arguments: {} }],
    ["prompts", { name: "p", arguments: [{}] }],
    ["resources", { name: "r", uri: "no scheme" }],
    ["resources", { uri: "note://one" }],
  ];
  for (const [kind, item] of invalid) {
    assert.equal(readItem(kind, item), undefined);
  }
});
