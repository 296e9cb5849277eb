/** Options to start the gateway in a test. */
export interface GatewayCommand {
  readonly args?: readonly string[];
  /** Added to the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard input; empty by default. */
  readonly stdin?: "piped" | "null";
  /** Starts it under the name `gwctl`. */
  readonly asGwctl?: boolean;
  /** Limit of open file descriptors. */
  readonly maxOpenFiles?: number | undefined;
}

/**
 * Creates a command that starts the gateway with piped output: the executable in `GATEWAY_BIN`, else the source. So the
 * same end-to-end tests cover both.
 */
export function gatewayCommand(
  { args = [], env = {}, cwd, stdin = "null", asGwctl = false, maxOpenFiles }:
    GatewayCommand,
): Deno.Command {
  const executable = Deno.env.get("GATEWAY_BIN");
  const built = asGwctl ? executable?.replace(/[^/]*$/, "gwctl") : executable;
  const main = new URL("../../../main.ts", import.meta.url).href;
  const program = built === undefined
    ? [Deno.execPath(), "run", "--quiet", "-A", main]
    : [built];
  const limit = maxOpenFiles === undefined
    ? []
    : ["sh", "-c", `ulimit -n ${maxOpenFiles}; exec "$0" "$@"`];
  const [file = "", ...before] = [...limit, ...program];
  return new Deno.Command(file, {
    args: [...before, ...args],
    env: asGwctl ? { ...env, GATEWAY_ARGV0: "gwctl" } : env,
    ...(cwd === undefined ? {} : { cwd }),
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}
