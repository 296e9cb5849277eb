import { type Command, formatOption } from "../command.ts";
import type { ShowConfigOptions } from "../ctl/show_config.ts";
import type { TableOptions } from "../ctl/print_as.ts";
import { withAdminOptions } from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `config all` and `config backends`. */
export function addConfigCommands(proxy: Command, name: string): void {
  const config = proxy.command("config").description(
    "Show the active configuration",
  );
  withAdminOptions(config.command("all"))
    .description(
      "Show the whole active configuration: listeners, routes, backends, policies",
    )
    .option(
      "--file <dump>",
      "a saved /config_dump instead of a running gateway; - for standard input",
    )
    .addOption(formatOption("yaml", "json"))
    .addHelpText("after", help.configExamples(name))
    .action(async (options: ShowConfigOptions) => {
      const { showConfig } = await import("../ctl/show_config.ts");
      await showConfig(options);
    });
  withAdminOptions(config.command("backends"))
    .description("Show backends and their connections")
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.backendsExamples(name))
    .action(async (options: TableOptions) => {
      const { showBackends } = await import("../ctl/show_backends.ts");
      await showBackends(options);
    });
}
