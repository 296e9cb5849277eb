import { type GatewayCommand, gatewayCommand } from "./executable.ts";

/** A command of the gateway that runs until stopped; killed when disposed. */
export interface RunningCommand extends AsyncDisposable {
  /** Everything on standard output so far. */
  stdout(): string;
  /** Everything on standard error so far, which is where the log goes. */
  stderr(): string;
  /** Resolves once the output matches; rejects if the process exits before. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  signal(name: Deno.Signal): void;
  /** Resolves to the exit code. */
  readonly exited: Promise<number>;
}

/** Starts a command; `gateway -f` serves once its log says `admin Listening`. */
export function startCommand(command: GatewayCommand): RunningCommand {
  const child = gatewayCommand(command).spawn();
  const output = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  let hasEnded = false;
  async function follow(name: "stdout" | "stderr"): Promise<void> {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) {
      output[name] += text;
      for (const check of waiting) check();
    }
  }
  async function toTheEnd(): Promise<number> {
    await Promise.all([follow("stdout"), follow("stderr")]);
    const { code } = await child.status;
    hasEnded = true;
    for (const check of waiting) check();
    return code;
  }
  const exited = toTheEnd();

  function waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      function check(): void {
        const match = pattern.exec(output.stdout) ??
          pattern.exec(output.stderr);
        if (match === null && !hasEnded) return;
        waiting.delete(check);
        if (match !== null) resolve(match);
        else {reject(
            new Error(
              `Ended without ${pattern}:\n${output.stdout}\n${output.stderr}`,
            ),
          );}
      }
      waiting.add(check);
      check();
    });
  }

  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    waitFor,
    signal: (name) => child.kill(name),
    exited,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) child.kill("SIGKILL");
      await exited;
    },
  };
}
