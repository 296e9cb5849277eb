import { collect, type Command, Option, parsePort } from "./command.ts";
import type { ShowConfigOptions } from "./ctl/config.ts";
import type { ControlLogOptions } from "./ctl/log.ts";
import * as help from "./help.ts";

/**
 * Adds what can be asked of a running gateway.
 * @param name Of the program, for examples: `gwctl` or `gateway ctl`.
 */
export function addControlCommands(program: Command, name: string): void {
  const proxy = program.command("proxy").description(
    "Look into a running gateway and change how it logs",
  );
  const config = proxy.command("config").description(
    "Show the configuration in force",
  );
  withAdminOptions(config.command("all"))
    .description(
      "Show everything that is in force: listeners, routes, backends, policies",
    )
    .option(
      "--file <dump>",
      "a saved /config_dump in place of a running gateway; - for standard input",
    )
    .addOption(
      new Option("-o, --output <format>", "output format").choices([
        "yaml",
        "json",
      ]).default("yaml"),
    )
    .addHelpText("after", help.configExamples(name))
    .action(
      async (options: ShowConfigOptions) => {
        const { showConfig } = await import("./ctl/config.ts");
        await showConfig(options);
      },
    );
  withAdminOptions(proxy.command("log"))
    .description("Show or change the log level")
    .option(
      "--level <level>",
      "level of all modules without one of their own: off, error, warn, info, debug, trace",
    )
    .option(
      "--set <module=level>",
      "level of one module; may be repeated",
      collect,
      [],
    )
    .option("--reset", "return to the configured levels first")
    .addHelpText("after", help.logExamples(name))
    .action(
      async (options: ControlLogOptions) => {
        const { controlLog } = await import("./ctl/log.ts");
        await controlLog(options);
      },
    );
}

function withAdminOptions(command: Command): Command {
  return command
    .option("--local", "the gateway on this machine; the default")
    .addOption(
      new Option(
        "-p, --port <port>",
        "admin port on this machine (default: 15000)",
      ).argParser(parsePort),
    )
    .addOption(
      new Option(
        "--admin <address>",
        'admin address: "host:port" or "unix:<path>"',
      ).conflicts("port"),
    );
}
