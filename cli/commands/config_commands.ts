import { type Command, formatOption } from "./command.ts";
import { withGatewayOptions } from "./admin_options.ts";
import * as help from "./help.ts";
import { addView } from "./diagnostics_commands.ts";
import { worksOnProxies } from "./proxy_command.ts";

/** Adds `config all`, and `backends` also as `config backends`. */
export function addConfigCommands(proxy: Command, name: string): void {
  const config = proxy.command("config").description(
    "Show the active configuration",
  );
  const all = withGatewayOptions(config.command("all"))
    .description(
      "Show the whole active configuration: listeners, routes, backends, policies",
    )
    .option(
      "--file <dump>",
      "a saved /config_dump instead of a running gateway; - for standard input",
    )
    .addOption(formatOption("yaml", "json", "short"))
    .addHelpText("after", help.examplesOf("config", name));
  worksOnProxies(
    all,
    async () => (await import("../ctl/show_config.ts")).showConfig,
    { first: true },
  );
  for (const parent of [proxy, config]) addView(parent, "backends", name);
}
