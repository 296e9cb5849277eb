/** How a test starts the gateway. */
export interface GatewayCommand {
  readonly args?: readonly string[];
  /** Added to the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Nothing to read unless set. */
  readonly stdin?: "piped" | "null";
  /** Starts it under its other name. */
  readonly asGwctl?: boolean;
  /** How many files and connections it may have open. */
  readonly maxOpenFiles?: number | undefined;
}

/**
 * A command that starts the gateway with its output piped: the executable named by `GATEWAY_BIN`, else the source. So the
 * same end-to-end tests prove both.
 */
export function gatewayCommand(
  { args = [], env = {}, cwd, stdin = "null", asGwctl = false, maxOpenFiles }:
    GatewayCommand,
): Deno.Command {
  const executable = Deno.env.get("GATEWAY_BIN");
  const built = asGwctl ? executable?.replace(/[^/]*$/, "gwctl") : executable;
  const main = new URL("../../main.ts", import.meta.url).href;
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
