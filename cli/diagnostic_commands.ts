import { withAdminOptions } from "./admin_options.ts";
import { type Command, Option, parseCount, parseSeconds } from "./command.ts";
import type { ShowBackendsOptions } from "./ctl/backends.ts";
import type { ShowMemoryOptions } from "./ctl/memory.ts";
import type { ProfileOptions } from "./ctl/profile.ts";
import type { ShowTasksOptions } from "./ctl/tasks.ts";
import type { Call } from "./control_commands.ts";
import * as help from "./help.ts";

/** Adds what tells where the time and the memory of a gateway go. */
export function addDiagnosticCommands(
  proxy: Command,
  name: string,
  call: Call,
): void {
  addProfileCommands(proxy, name, call);
  withAdminOptions(proxy.command("memory"))
    .description("Show the memory of the process, and how full its stores are")
    .addOption(formatOption())
    .addHelpText("after", help.memoryExamples(name))
    .action(async (options: ShowMemoryOptions) => {
      const { showMemory } = await import("./ctl/memory.ts");
      await showMemory(options);
    });
  withAdminOptions(proxy.command("tasks"))
    .description("Show the requests that are under way, and how far they are")
    .addOption(formatOption())
    .addOption(
      new Option("--limit <n>", "connections and requests (default: 1000)")
        .argParser(parseTaskLimit),
    )
    .addHelpText("after", help.tasksExamples(name))
    .action(async (options: ShowTasksOptions) => {
      const { showTasks } = await import("./ctl/tasks.ts");
      await showTasks(options);
    });
}

/** Adds `config backends`. */
export function addBackendsCommand(config: Command, name: string): void {
  withAdminOptions(config.command("backends"))
    .description("Show the backends and the connections to them")
    .addOption(formatOption())
    .addHelpText("after", help.backendsExamples(name))
    .action(async (options: ShowBackendsOptions) => {
      const { showBackends } = await import("./ctl/backends.ts");
      await showBackends(options);
    });
}

function addProfileCommands(
  proxy: Command,
  name: string,
  call: Call,
): void {
  const profile = proxy.command("profile").description(
    "Take a profile, for go tool pprof",
  );
  withAdminOptions(profile.command("cpu"))
    .description("Where processor time goes; for gateways on Linux")
    .addOption(
      new Option("--seconds <n>", "how long to sample, 1 to 300").default(30)
        .argParser(parseSeconds),
    )
    .addOption(fileOption("gateway-cpu-<time>.pb.gz"))
    .addHelpText("after", help.profileExamples(name))
    .action(async (options: ProfileOptions) => {
      const { takeProfile } = await import("./ctl/profile.ts");
      call.finish(await takeProfile("cpu", options));
    });
  withAdminOptions(profile.command("heap"))
    .description("Where memory in use was allocated")
    .addOption(fileOption("gateway-heap-<time>.pb.gz"))
    .addHelpText("after", help.profileExamples(name))
    .action(async (options: ProfileOptions) => {
      const { takeProfile } = await import("./ctl/profile.ts");
      call.finish(await takeProfile("heap", options));
    });
}

function fileOption(preset: string): Option {
  return new Option(
    "-o, --output <file>",
    `file to write (default: ${preset})`,
  );
}

function formatOption(): Option {
  return new Option("-o, --output <format>", "output format").choices([
    "table",
    "yaml",
    "json",
  ]).default("table");
}

function parseTaskLimit(text: string): number {
  return Math.min(parseCount(text), 100_000);
}
