import { type Command, Option, parsePort } from "./command.ts";

/** Adds what says which gateway to ask. */
export function withAdminOptions(command: Command): Command {
  return command
    .option("--local", "the gateway on this machine; the default")
    .addOption(
      new Option(
        "-p, --port <port>",
        "admin port on this machine (default: 15000)",
      ).argParser(parsePort),
    )
    .addOption(adminOption("port"))
    .addOption(tokenFileOption());
}

/** The address in full; it stands in place of the option `other`. */
export function adminOption(other: string): Option {
  return new Option(
    "--admin <address>",
    'admin address: "host:port" or "unix:<path>"',
  ).conflicts(other);
}

/** For a gateway that asks for a token. */
export function tokenFileOption(): Option {
  return new Option(
    "--token-file <path>",
    "file with the token of the admin interface (default: GATEWAY_ADMIN_TOKEN of the environment)",
  );
}
