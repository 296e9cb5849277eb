import { type Command, Option, parsePort } from "../command.ts";

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
