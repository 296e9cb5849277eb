/** A program as an MCP server, in the form of the configuration. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Serves a tool over standard input and output. It runs as a program of its own, so it must not use anything outside of itself.
 * MCP 2025-11-25, "Transports": one message per line.
 */
async function serveUnits(): Promise<void> {
  const tool = {
    name: "to_fahrenheit",
    description: "Converts a temperature from Celsius to Fahrenheit",
    inputSchema: {
      type: "object",
      properties: { celsius: { type: "number" } },
      required: ["celsius"],
    },
  };
  const convert = (celsius: unknown) =>
    typeof celsius === "number"
      ? { content: [{ type: "text", text: `${celsius * 9 / 5 + 32} °F` }] }
      : {
        content: [{ type: "text", text: '"celsius" must be a number' }],
        isError: true,
      };
  const resultOf = (method: string, params = Object()) => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "units", version: "1.0.0" },
        };
      case "tools/list":
        return { tools: [tool] };
      case "tools/call":
        return convert(params.arguments?.celsius);
      case "ping":
        return {};
      default:
        return undefined;
    }
  };
  let rest = "";
  const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const chunk of input) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      const result = resultOf(method, params);
      const error = { code: -32601, message: "Method not found" };
      const response = result === undefined ? { error } : { result };
      const text = JSON.stringify({ jsonrpc: "2.0", id, ...response });
      await Deno.stdout.write(new TextEncoder().encode(`${text}\n`));
    }
  }
}

/** Options that leave a program without permissions, and keep it from fetching code. */
const nothingAllowed = [
  "--no-prompt",
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
];

function hasShell(): boolean {
  try {
    return Deno.statSync("/bin/sh").isFile;
  } catch {
    // Container images have none.
    return false;
  }
}

/**
 * Returns the server as a program that runs without permissions; `undefined` where there is no Deno to run it, or no shell for the
 * gateway to start it.
 */
export function unitsProgram(): Program | undefined {
  if (Deno.build.standalone || !hasShell()) return undefined;
  const source = encodeURIComponent(`await (${serveUnits})();`);
  return {
    command: Deno.execPath(),
    args: ["run", ...nothingAllowed, `data:text/javascript,${source}`],
  };
}
