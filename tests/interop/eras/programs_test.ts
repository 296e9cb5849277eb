/** Programs of both eras behind one endpoint: `server-everything` of the MCP project, and a server of 2026-07-28. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { check, type EraConnection } from "./era_features.ts";
import { sdk1Client, sdk2Clients } from "./sdk_clients.ts";

const everything = config.imports["@modelcontextprotocol/server-everything"];
const configFile = fileURLToPath(
  new URL("../../../deno.json", import.meta.url),
);
const program = fileURLToPath(new URL("sdk2_program.ts", import.meta.url));

/** Runs a module with Deno. */
function run(module: string) {
  const args = ["run", "-A", "--no-check", "--config", configFile, module];
  return { command: Deno.execPath(), args };
}

for (const era of [sdk1Client, ...sdk2Clients]) {
  Deno.test(`a client (${era.name}) uses programs of both eras behind one endpoint`, async () => {
    await using gateway = await startTestGateway({
      routes: [{
        backends: [{
          mcp: {
            servers: [
              { name: "everything", stdio: run(everything) },
              { name: "modern", stdio: run(program) },
            ],
          },
        }],
      }],
    });
    await using client = await era.connect(`${gateway.origin}/mcp`);

    const problems: string[] = [];
    for (
      const feature of [
        "tools",
        "resources",
        "prompts",
        "elicitation",
        "sampling",
        "progress",
        "cancel",
        "subscription",
      ] as const
    ) {
      const seen = await check(client, feature, "modern");
      if (seen !== "yes") problems.push(`${feature}: ${seen}`);
    }

    assert.deepEqual(problems, []);
    await useEverything(client);
  });
}

/** Uses what `server-everything` has. */
async function useEverything(client: EraConnection) {
  const tools = await client.toolNames();
  const uris = await client.resourceUris();
  const text = await client.call("everything_echo", {
    args: { message: "hi" },
  });
  const sampled = await client.call("everything_trigger-sampling-request", {
    args: { prompt: "Think" },
  });
  const asked = await client.call("everything_trigger-elicitation-request");
  const document = "everything+demo://resource/static/document/architecture.md";
  const read = await client.read(document);
  const dynamic = await client.read(
    "everything+demo://resource/dynamic/text/1",
  );
  const prompt = await client.prompt("everything_args-prompt", {
    city: "Paris",
  });

  assert.equal(tools.includes("modern_echo"), true);
  assert.equal(uris.includes(document), true);
  assert.equal(text, "Echo: hi");
  assert.match(sampled, /from the model/);
  assert.match(asked, /provided the requested information/);
  assert.match(read, /Architecture/);
  assert.match(dynamic, /Resource 1/);
  assert.match(prompt, /Paris/);
}
