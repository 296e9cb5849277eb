import assert from "node:assert/strict";
import { compareBodies } from "../../harness/clients/body_comparison.ts";

/** Commands that start the servers in `body_servers/`; `make interop-bodies` builds and names them. */
const commands = {
  python: Deno.env.get("PYTHON_BODY_SERVERS") ?? "",
  go: Deno.env.get("GO_BODY_SERVERS") ?? "",
} as const;

const servers = [
  ["python", "mcp", "/mcp/", "mcp.tool.name"],
  ["python", "fastapi", "/v1/chat/completions", "llm.requestModel"],
  ["python", "pydantic", "/v1/chat/completions", "llm.requestModel"],
  ["go", "mcp", "/mcp", "mcp.tool.name"],
  ["go", "json", "/v1/chat/completions", "llm.requestModel"],
] as const;

/** Starts the servers of a language, and returns their ports. */
async function startServers(language: keyof typeof commands) {
  const [command = "", ...args] = commands[language].split(" ");
  const child = new Deno.Command(command, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await lines.read();
    if (done) throw new Error(`${commands[language]} ended before it started`);
    text += value;
  }
  const ports: Readonly<Record<string, number>> = JSON.parse(text);
  return {
    ports,
    async [Symbol.asyncDispose]() {
      await lines.cancel();
      await child.stdin.close();
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

for (const [language, name, path, field] of servers) {
  Deno.test(`${name} in ${language} sees in generated bodies what the gateway saw, or nothing`, async () => {
    await using running = await startServers(language);
    const port = running.ports[name];
    assert.ok(port !== undefined);

    const { compared, agreed } = await compareBodies({ port, path, field });

    assert.ok(compared > 500 && agreed > 20, `${agreed} of ${compared}`);
  });
}
