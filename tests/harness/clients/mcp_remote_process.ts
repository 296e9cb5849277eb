import { join } from "node:path";
import { logIn } from "../browser/browser_user.ts";
import { LogLines } from "../telemetry/log_lines.ts";

/** Time-out for a program that hangs. */
const TIMEOUT_MS = 300_000;

interface ToolList {
  readonly result: { readonly tools: readonly { readonly name: string }[] };
}

/** Runs `mcp-remote` as an MCP host does: one JSON-RPC message per line on standard input and output. Errors include its log. */
export class McpRemoteProcess implements AsyncDisposable {
  readonly #home: string;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers = new LogLines();
  readonly #log = new LogLines();
  readonly #ended: Promise<unknown>;
  #lastId = 0;

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
      // Without a PATH it finds no browser and prints the URL for its user.
      env: { MCP_REMOTE_CONFIG_DIR: home, PATH: home },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).spawn();
    return new McpRemoteProcess(home, child);
  }

  /** Logs in at the printed URL, and opens the callback like a browser. */
  async logIn(): Promise<void> {
    await this.#log.next(/Please authorize this client by visiting:/);
    const callback = await logIn(await this.#log.next(/^http/));
    const response = await fetch(callback);
    await response.body?.cancel();
  }

  async initialize(): Promise<void> {
    await this.#call("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1.0.0" },
    });
    await this.#send({ method: "notifications/initialized" });
  }

  async listTools(): Promise<readonly string[]> {
    const { result }: ToolList = JSON.parse(await this.#call("tools/list", {}));
    return result.tools.map(({ name }) => name);
  }

  /** Returns the response as JSON. */
  callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    return this.#call("tools/call", { name, arguments: input });
  }

  /** Makes the stored access token one that no server accepts. */
  async expireToken(): Promise<void> {
    const folder = join(this.#home, "mcp-remote-v1");
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith("_tokens.json")) continue;
      const file = join(folder, name);
      const tokens = JSON.parse(await Deno.readTextFile(file));
      await Deno.writeTextFile(
        file,
        JSON.stringify({ ...tokens, access_token: "expired" }),
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill();
    } catch (error) {
      // It has exited by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#ended;
    await this.#input.close().catch(() => {});
    await Deno.remove(this.#home, { recursive: true });
  }

  async #call(method: string, params: unknown): Promise<string> {
    const id = ++this.#lastId;
    await this.#send({ id, method, params });
    try {
      return await Promise.race([
        this.#answers.next(new RegExp(`"id":${id}[,}]`)),
        this.#isRefused(),
      ]);
    } catch (error) {
      throw new Error(`${error}\n${this.#log.all.join("\n")}`);
    }
  }

  /** Rejects if the server rejected the token: the program then asks its user again and waits. */
  async #isRefused(): Promise<never> {
    await this.#log.next(/Please authorize this client/);
    throw new Error("mcp-remote asks to log in again");
  }

  async #send(message: Readonly<Record<string, unknown>>): Promise<void> {
    const line = `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
    await this.#input.write(new TextEncoder().encode(line));
  }
}
