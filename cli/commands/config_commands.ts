import { type Command, formatOption } from "./command.ts";
import type { ShowConfigOptions } from "../ctl/show_config.ts";
import type { TableOptions } from "../output/print_as.ts";
import { withGatewayOptions } from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `config all`, and `backends` also as `config backends`. */
export function addConfigCommands(proxy: Command, name: string): void {
  const config = proxy.command("config").description(
    "Show the active configuration",
  );
  withGatewayOptions(config.command("all"))
    .description(
      "Show the whole active configuration: listeners, routes, backends, policies",
    )
    .option(
      "--file <dump>",
      "a saved /config_dump instead of a running gateway; - for standard input",
    )
    .addOption(formatOption("yaml", "json", "short"))
    .addHelpText("after", help.configExamples(name))
    .action(async (gateway: string | undefined, options: ShowConfigOptions) => {
      const { forFirstProxy } = await import("../cluster/for_proxies.ts");
      const { showConfig } = await import("../ctl/show_config.ts");
      await forFirstProxy(options, gateway, showConfig);
    });
  for (const parent of [proxy, config]) addBackends(parent, name);
}

function addBackends(parent: Command, name: string): void {
  withGatewayOptions(parent.command("backends"))
    .description(
      "Show backends: health, checks and connections of their endpoints",
    )
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.backendsExamples(name))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showBackends } = await import("../ctl/show_backends.ts");
      await forEachProxy(options, gateway, showBackends);
    });
}
