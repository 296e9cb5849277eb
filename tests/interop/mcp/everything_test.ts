/** `server-everything` of the MCP project, a program, gives clients of the official SDK the same through the gateway as directly. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import config from "../../../deno.json" with { type: "json" };
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const everything = config.imports["@modelcontextprotocol/server-everything"];
const configFile = fileURLToPath(
  new URL("../../../deno.json", import.meta.url),
);
const program = {
  command: Deno.execPath(),
  args: ["run", "-A", "--no-check", "--config", configFile, everything],
};
const DOCUMENT = "demo://resource/static/document/architecture.md";

Deno.test({
  name:
    "a client of the SDK gets from server-everything the same through the gateway as directly",
  // The SDK's transport leaves the timer with which it would end the program.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using gateway = await startTestGateway({
      routes: [{
        backends: [{
          mcp: { servers: [{ name: "everything", stdio: program }] },
        }],
      }],
    });
    const url = new URL(`${gateway.origin}/mcp`);

    const direct = await useAll(
      new StdioClientTransport({ ...program, stderr: "ignore" }),
    );
    const through = await useAll(new StreamableHTTPClientTransport(url));

    const { missing: _, ...same } = direct;
    const { missing, ...others } = through;
    assert.deepEqual(others, same);
    // The code of the specification, which the server does not use.
    assert.equal(missing, -32002);
    assert.deepEqual(others.updates, [DOCUMENT]);
    assert.deepEqual(others.progress, [1, 2]);
    assert.match(others.sampled, /from the model/);
    assert.match(others.asked, /Name: Ada/);
    assert.match(others.roots, /file:\/\/\/project/);
    assert.match(others.logged.join(), /Received Subscribe Resource/);
  },
});

/** Uses all that the server has, and returns what it gave. */
async function useAll(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
) {
  const { client, logged, updates, updated } = createClient();
  // Types of the two are not assignable under `exactOptionalPropertyTypes`.
  await client.connect(Object.assign(transport));
  const text = async (name: string, args: Record<string, unknown> = {}) =>
    JSON.stringify(
      (await client.callTool({ name, arguments: args })).content,
    );
  const progress: number[] = [];
  await client.setLoggingLevel("debug");
  const { tools } = await client.listTools();
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const ran = await client.callTool(
    {
      name: "trigger-long-running-operation",
      arguments: { duration: 0.3, steps: 3 },
    },
    CallToolResultSchema,
    { onprogress: (each) => progress.push(each.progress) },
  );
  await client.subscribeResource({ uri: DOCUMENT });
  await text("toggle-subscriber-updates");
  await updated;
  await client.unsubscribeResource({ uri: DOCUMENT });
  await text("toggle-subscriber-updates");
  const used = {
    // The gateway sorts lists by name.
    byName: [tools, prompts, resources].map((items) =>
      items.toSorted((a, b) => a.name < b.name ? -1 : 1)
    ),
    templates: resourceTemplates.map(({ uriTemplate }) => uriTemplate)
      .toSorted(),
    echo: await text("echo", { message: "hi" }),
    structured: await client.callTool({
      name: "get-structured-content",
      arguments: { location: "Chicago" },
    }),
    image: await text("get-tiny-image"),
    links: await text("get-resource-links", { count: 2 }),
    invalid: await client.callTool({ name: "get-sum", arguments: { a: "x" } }),
    document: await client.readResource({ uri: DOCUMENT }),
    missing: await client.readResource({ uri: "demo://resource/none" }).catch(
      ({ code }) => code,
    ),
    prompt: await client.getPrompt({
      name: "args-prompt",
      arguments: { city: "Paris" },
    }),
    department: await complete(client, "department", "S"),
    person: await complete(client, "name", "D", { department: "Sales" }),
    template: await client.complete({
      ref: {
        type: "ref/resource",
        uri: "demo://resource/dynamic/text/{resourceId}",
      },
      argument: { name: "resourceId", value: "7" },
    }),
    sampled: await text("trigger-sampling-request", { prompt: "Think" }),
    asked: await text("trigger-elicitation-request"),
    roots: await text("get-roots-list"),
    ran: ran.content,
    // The SDK drops progress that arrives with the result.
    progress: progress.slice(0, 2),
    updates,
    logged: logged.filter((each) => each.includes("Subscribe")),
  };
  await client.close();
  return used;
}

/** Creates a client that answers all that servers ask. */
function createClient() {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
  });
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: "test",
    role: "assistant",
    content: { type: "text", text: "from the model" },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: "file:///project", name: "project" }],
  }));
  const logged: string[] = [];
  const updates: string[] = [];
  const updated = Promise.withResolvers<void>();
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params: { data } }) => void logged.push(String(data)),
  );
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params: { uri } }) => {
      updates.push(uri);
      updated.resolve();
    },
  );
  return { client, logged, updates, updated: updated.promise };
}

/** Completes an argument of a prompt. */
async function complete(
  client: Client,
  name: string,
  value: string,
  args: Record<string, string> = {},
) {
  const { completion } = await client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name, value },
    context: { arguments: args },
  });
  return completion.values;
}
