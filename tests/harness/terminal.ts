import { Buffer } from "node:buffer";

/** A terminal of tmux with a shell in it; closed when disposed. */
export class Terminal implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param env Added to the test's own environment. */
  static async open(
    columns: number,
    rows: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Terminal> {
    const terminal = new Terminal(await Deno.makeTempDir());
    const variables = Object.entries(env).flatMap((
      [name, value],
    ) => ["-e", `${name}=${value}`]);
    const size = ["-x", String(columns), "-y", String(rows)];
    await terminal.#tmux("new-session", "-d", ...size, ...variables, "sh");
    try {
      // Some shells take no prompt from the environment.
      await terminal.run("PS1='shell> '; clear");
      await terminal.waitFor(/^shell> *$/m);
      return terminal;
    } catch (error) {
      await terminal[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Types a text, then presses Enter. */
  async run(command: string): Promise<void> {
    await this.type(command);
    await this.press("Enter");
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }

  /** Presses keys by the names that tmux has for them, such as `PageUp`, `C-c` or `q`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async resize(columns: number, rows: number): Promise<void> {
    const size = ["-x", String(columns), "-y", String(rows)];
    await this.#tmux("resize-window", ...size);
  }

  /** What is to be seen, row by row. */
  async screen(): Promise<string> {
    return await this.#tmux("capture-pane", "-p");
  }

  /** The same with the escape sequences of its colours. */
  async colours(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-e", "-N");
  }

  /** Such as `alternate_on` or `cursor_flag`. */
  async state(name: string): Promise<string> {
    const text = await this.#tmux("display-message", "-p", `#{${name}}`);
    return text.trim();
  }

  /** The screen once it matches them all: it is drawn piece by piece. Fails with what it was instead after two minutes. */
  async waitFor(...patterns: readonly RegExp[]): Promise<string> {
    const deadline = Date.now() + 120_000;
    while (true) {
      const screen = await this.screen();
      const missing = patterns.find((pattern) => !pattern.test(screen));
      if (missing === undefined) return screen;
      if (Date.now() > deadline) {
        throw new Error(`No ${missing} on the screen:\n${screen}`);
      }
      // tmux has no way to tell when a pane shows something.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server");
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-S", `${this.#folder}/socket`, "-f", "/dev/null", ...args],
      env: { LC_ALL: "C.UTF-8", TMUX: "" },
    }).output();
    if (success) return Buffer.from(stdout).toString();
    throw new Error(`tmux ${args[0]}: ${Buffer.from(stderr).toString()}`);
  }
}

/** What to type into a shell to start the gateway, as `gatewayCommand` does. */
export function gatewayCommandLine(args: readonly string[]): string {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const executable = Deno.env.get("GATEWAY_BIN");
  const words = executable === undefined
    ? [Deno.execPath(), "run", "--quiet", "-A", main, ...args]
    : [executable, ...args];
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}
