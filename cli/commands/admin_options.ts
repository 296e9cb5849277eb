import { type Command, Option, parsePort } from "../command.ts";

/** Adds what says which gateway to ask. */
export function withAdminOptions(command: Command): Command {
  return command
    .option("--local", "the gateway on this machine; the default")
    .addOption(adminPortOption("port"))
    // Where no listener has to be named, this cannot mean another port.
    .addOption(new PortOption("--port <port>", "port").hideHelp())
    .addOption(adminOption("port"))
    .addOption(tokenFileOption());
}

/** The port; `attribute` is its name among the options of the command. */
export function adminPortOption(attribute: string): Option {
  return new PortOption("-p, --admin-port <port>", attribute);
}

/** The address in full; it stands in place of the option `other`. */
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

/** For a gateway that asks for a token. */
export function tokenFileOption(): Option {
  return new Option(
    "--token-file <path>",
    "file with the token of the admin interface (default: GATEWAY_ADMIN_TOKEN of the environment)",
  );
}
