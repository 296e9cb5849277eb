import { Buffer } from "node:buffer";

/** A tmux terminal with a shell; closed when disposed. */
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
      await terminal.#tmux("set-option", "-s", "set-clipboard", "on");
      // Some shells ignore a prompt in the environment.
      await terminal.run("PS1='shell> '; clear");
      await terminal.waitFor(/^shell> *$/m);
      return terminal;
    } catch (error) {
      await terminal[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Types text, then presses Enter. */
  async run(command: string): Promise<void> {
    await this.type(command);
    await this.press("Enter");
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }

  /** Presses keys by their tmux names, such as `PageUp`, `C-c` or `q`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async resize(columns: number, rows: number): Promise<void> {
    const size = ["-x", String(columns), "-y", String(rows)];
    await this.#tmux("resize-window", ...size);
  }

  /** Returns the rows of the screen. */
  async screen(): Promise<string> {
    return await this.#tmux("capture-pane", "-p");
  }

  /** Returns the screen with the escape sequences of its colors. */
  async colours(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-e", "-N");
  }

  /** Returns what a program copied last. */
  async clipboard(): Promise<string> {
    return await this.#tmux("show-buffer");
  }

  /** Returns a variable such as `alternate_on` or `cursor_flag`. */
  async state(name: string): Promise<string> {
    const text = await this.#tmux("display-message", "-p", `#{${name}}`);
    return text.trim();
  }

  /** Returns the screen once it matches all patterns, because it is drawn piece by piece. Throws with the screen after two minutes. */
  async waitFor(...patterns: readonly RegExp[]): Promise<string> {
    const deadline = Date.now() + 120_000;
    while (true) {
      const screen = await this.screen();
      const missing = patterns.find((pattern) => !pattern.test(screen));
      if (missing === undefined) return screen;
      if (Date.now() > deadline) {
        throw new Error(`No ${missing} on the screen:\n${screen}`);
      }
      // tmux cannot report when a pane shows something.
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

/** Returns the shell command line that starts the gateway like `gatewayCommand`. */
export function gatewayCommandLine(args: readonly string[]): string {
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const executable = Deno.env.get("GATEWAY_BIN");
  const words = executable === undefined
    ? [Deno.execPath(), "run", "--quiet", "-A", main, ...args]
    : [executable, ...args];
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}
