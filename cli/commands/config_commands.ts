import { type Command, formatOption } from "./command.ts";
import { withGatewayOptions } from "./admin_options.ts";
import * as help from "./help.ts";
import { printsTables, worksOnProxies } from "./proxy_command.ts";

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
    .addHelpText("after", help.configExamples(name));
  worksOnProxies(
    all,
    async () => (await import("../ctl/show_config.ts")).showConfig,
    { first: true },
  );
  for (const parent of [proxy, config]) {
    const backends = withGatewayOptions(parent.command("backends"))
      .description(
        "Show backends: health, checks and connections of their endpoints",
      )
      .addHelpText("after", help.backendsExamples(name));
    printsTables(
      backends,
      async () => (await import("../ctl/show_backends.ts")).showBackends,
    );
  }
}
