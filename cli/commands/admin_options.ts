import { type Command, Option, parsePort } from "./command.ts";

/** Adds the options that select a gateway on this machine. */
export function withAdminOptions(command: Command): Command {
  return command
    .option("--local", "the gateway on this machine (default)")
    .addOption(adminPortOption("port"))
    // Unambiguous in commands without listener ports.
    .addOption(new PortOption("--port <port>", "port").hideHelp())
    .addOption(adminOption("port"))
    .addOption(tokenFileOption());
}

/** Adds what selects a gateway, on this machine or in a cluster. */
export function withGatewayOptions(command: Command): Command {
  return withClusterOptions(
    withAdminOptions(
      command.argument("[gateway]", "gateway/<name> in a cluster"),
    ),
  );
}

/** Adds the options that select a cluster. */
export function withClusterOptions(command: Command): Command {
  return command
    .option(
      "-n, --namespace <namespace>",
      "namespace in the cluster (default: that of the kubeconfig)",
    )
    .option(
      "--kubeconfig <path>",
      "credentials of the cluster (default: KUBECONFIG, then ~/.kube/config)",
    );
}

/** Creates the admin port option; `attribute` is its name in the parsed options. */
export function adminPortOption(attribute: string): Option {
  return new PortOption("-p, --admin-port <port>", attribute);
}

/** Creates the admin address option, which excludes the option `other`. */
export function adminOption(other: string): Option {
  return new Option(
    "--admin <address>",
    'admin address: "host:port" or "unix:<path>"',
  ).conflicts(other);
}

class PortOption extends Option {
  readonly #attribute: string;

  constructor(flags: string, attribute: string) {
    super(flags, "admin port on this machine (default: 15000)");
    this.#attribute = attribute;
    this.argParser(parsePort);
  }

  override attributeName(): string {
    return this.#attribute;
  }
}

/** Creates the option for the admin token. */
export function tokenFileOption(): Option {
  return new Option(
    "--token-file <path>",
    "file with the admin token (default: environment variable GATEWAY_ADMIN_TOKEN)",
  );
}

/** Options that select a gateway, each with a value. */
const withValue =
  /^(?:-p|-n|--(?:admin|admin-port|port|token-file|namespace|kubeconfig))$/;
const complete =
  /^(?:--local|-[pn].+|--(?:admin|admin-port|port|token-file|namespace|kubeconfig)=.*)$/;

/** Moves options that select a gateway, and precede the command, behind it: `["-p", "1", "explain"]` becomes `["explain", "-p", "1"]`. */
export function moveLeadingOptions(
  args: readonly string[],
): readonly string[] {
  let end = 0;
  for (;;) {
    const arg = args[end] ?? "";
    if (complete.test(arg)) end++;
    else if (withValue.test(arg)) end += 2;
    else break;
  }
  const rest = args.slice(end);
  // Without a command, it is the place that is wrong.
  if (end === 0 || rest.length === 0) return args;
  const separator = rest.indexOf("--");
  const at = separator < 0 ? rest.length : separator;
  return [...rest.slice(0, at), ...args.slice(0, end), ...rest.slice(at)];
}
