import { logIn } from "./browser_user.ts";
import { LogLines } from "./log_lines.ts";

interface ToolList {
  readonly result: { readonly tools: readonly { readonly name: string }[] };
}

/** `mcp-remote` as an MCP host runs it: JSON-RPC by line on its standard input and output. */
export class McpRemoteProcess implements AsyncDisposable {
  readonly #home: string;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers = new LogLines();
  readonly #log = new LogLines();
  readonly #ended: Promise<unknown>;

  private constructor(home: string, child: Deno.ChildProcess) {
    this.#home = home;
    this.#child = child;
    this.#input = child.stdin.getWriter();
    this.#ended = Promise.all([
      this.#answers.addAll(child.stdout),
      this.#log.addAll(child.stderr),
      child.status,
    ]);
  }

  static async start(args: readonly string[]): Promise<McpRemoteProcess> {
    const home = await Deno.makeTempDir();
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "mcp-remote", ...args],
      // Without a PATH it finds no browser, and prints the URL for its user.
      env: { MCP_REMOTE_CONFIG_DIR: home, PATH: home },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new McpRemoteProcess(home, child);
  }

  /** Logs in on the page it prints, and opens the callback as a browser would. */
  async logIn(): Promise<void> {
    await this.#log.next(/Please authorize this client by visiting:/);
    const callback = await logIn(await this.#log.next(/^http/));
    const response = await fetch(callback);
    await response.body?.cancel();
  }

  async initialize(): Promise<void> {
    await this.#call(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1.0.0" },
    });
    await this.#send({ method: "notifications/initialized" });
  }

  async listTools(): Promise<readonly string[]> {
    const answer = JSON.parse(await this.#call(2, "tools/list", {}));
    const { result }: ToolList = answer;
    return result.tools.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill();
    } catch (error) {
      // It ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#ended;
    await this.#input.close().catch(() => {});
    await Deno.remove(this.#home, { recursive: true });
  }

  async #call(id: number, method: string, params: unknown): Promise<string> {
    await this.#send({ id, method, params });
    return await this.#answers.next(new RegExp(`"id":${id}[,}]`));
  }

  async #send(message: Readonly<Record<string, unknown>>): Promise<void> {
    const line = `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
    await this.#input.write(new TextEncoder().encode(line));
  }
}
