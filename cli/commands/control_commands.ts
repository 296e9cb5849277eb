import { nearest } from "../../src/api/schema/suggest.ts";
import { type Call, collect, type Command, rejectCommand } from "./command.ts";
import {
  addAccessCommands,
  addAccountCommands,
  addGrantCommands,
} from "./access_commands.ts";
import { withGatewayOptions } from "./admin_options.ts";
import { addConfigCommands } from "./config_commands.ts";
import {
  addArmsCommand,
  addKeysCommands,
  addLimitsCommand,
  addProfileCommands,
  addTasksCommands,
  addUsageCommand,
  addView,
} from "./diagnostics_commands.ts";
import * as help from "./help.ts";
import { addMcpCommands } from "./mcp_commands.ts";
import { worksOnProxies } from "./proxy_command.ts";
import { addResourceCommands } from "./resource_commands.ts";
import { addExplainCommand, addTraceCommand } from "./requests_commands.ts";
import { addTryCommands } from "./try_commands.ts";

/**
 * Adds the commands for a running gateway.
 * @param name Name of the program in examples: `gwctl` or `gateway ctl`.
 */
export function addControlCommands(
  program: Command,
  name: string,
  call: Call,
): void {
  const proxy = program.command("proxy").description(
    "Inspect a running gateway and change log levels",
  );
  addConfigCommands(proxy, name);
  addKeysCommands(proxy, name, call);
  addLimitsCommand(proxy, name);
  addUsageCommand(proxy, name);
  addLogCommand(proxy, name);
  addProfileCommands(proxy, name, call);
  addView(proxy, "mcp", name);
  addView(proxy, "memory", name);
  addView(proxy, "audit", name);
  addArmsCommand(proxy, name);
  addTasksCommands(proxy, name);
  addTraceCommand(proxy, name, call);
  addTraceCommand(program, name, call, true);
  addExplainCommand(program, name);
  addTryCommands(program, name);
  addAccessCommands(program, name, call);
  addAccountCommands(program, name);
  addGrantCommands(program, name);
  addMcpCommands(program, name, call);
  addResourceCommands(program, call);
  program.on("command:*", ([word = ""]: readonly string[]) => {
    const isNested = proxy.commands.some((command) => command.name() === word);
    const names = ["help", ...program.commands.map((known) => known.name())];
    const near = isNested ? `${name} proxy ${word}` : nearest(word, names);
    rejectCommand(program, word, near);
  });
}

function addLogCommand(proxy: Command, name: string): void {
  const log = withGatewayOptions(proxy.command("log"))
    .description("Show or change the log level")
    .option(
      "--level <level>",
      "default level: off, error, warn, info, debug, trace",
    )
    .option(
      "--set <module=level>",
      "level of a module; may be repeated",
      collect,
    )
    .option("--reset", "reset to the configured levels first")
    .addHelpText("after", help.examplesOf("log", name));
  worksOnProxies(
    log,
    async () => (await import("../ctl/change_log_levels.ts")).controlLog,
  );
}
