/** A stdio server of the official SDK, run as a program: `deno run -A tests/harness/mcp/stdio_server.ts`. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "stdio", version: "1.0.0" }, {
  capabilities: { logging: {} },
});
let calls = 0;
let waiting = 0;

server.registerTool("facts", {
  description:
    "Returns the process, its environment, the calls so far and those of `wait`",
}, () =>
  answer({
    pid: Deno.pid,
    env: Deno.env.toObject(),
    cwd: Deno.cwd(),
    calls: ++calls,
    waiting,
  }));

server.registerTool("ask", {
  description: "Asks the user",
}, async () =>
  answer(
    await server.server.elicitInput({
      message: "Continue?",
      requestedSchema: {
        type: "object",
        properties: { answer: { type: "string" } },
      },
    }),
  ));

server.registerTool("wait", {
  description: "Waits",
  inputSchema: { ms: z.number() },
}, async ({ ms }: { ms: number }) => {
  waiting++;
  await new Promise((resolve) => setTimeout(resolve, ms));
  return answer(Deno.pid);
});

server.registerTool("grow", { description: "Adds a tool" }, () => {
  server.registerTool("grown", { description: "Was added" }, () => answer(1));
  return answer("added");
});

server.registerTool("exit", { description: "Ends the process" }, () => {
  Deno.exit(3);
});

server.registerTool("hoard", {
  description: "Takes memory",
  inputSchema: { bytes: z.number() },
}, async ({ bytes }: { bytes: number }) => {
  hoard = new Uint8Array(bytes).fill(1);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  return answer(hoard.length);
});
let hoard = new Uint8Array();

server.registerTool("spawn", {
  description: "Starts a process of its own, which ignores what happens",
}, () => {
  const { pid } = new Deno.Command("sh", {
    args: ["-c", "trap '' HUP TERM; while :; do sleep 1; done"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return answer(pid);
});

server.registerTool("complain", {
  description: "Writes to standard error",
  inputSchema: { text: z.string(), times: z.number() },
}, ({ text, times }: { text: string; times: number }) => {
  const line = new TextEncoder().encode(`${text}\n`);
  for (let i = 0; i < times; i++) Deno.stderr.writeSync(line);
  return answer(times);
});

server.registerTool("flood", {
  description: "Writes a line without end",
}, () => {
  Deno.stdout.writeSync(new Uint8Array(9 * 1024 * 1024).fill(97));
  return answer("never read");
});

function answer(value: unknown) {
  return { content: [{ type: "text" as const, text: JSON.stringify(value) }] };
}

await server.connect(new StdioServerTransport());
