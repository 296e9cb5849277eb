import { type Call, type Command, Option, wholeNumber } from "./command.ts";
import type { ProfileOptions } from "../ctl/take_profile.ts";
import type { ResetLimitsOptions } from "../ctl/show_usage.ts";
import { withAdminOptions, withGatewayOptions } from "./admin_options.ts";
import * as help from "./help.ts";
import { printsTables, worksOnProxies } from "./proxy_command.ts";

/** Adds `limits`. */
export function addLimitsCommand(proxy: Command, name: string): void {
  const limits = withGatewayOptions(proxy.command("limits"))
    .description("Show rate limits and their remaining budgets")
    .addHelpText("after", help.limitsExamples(name));
  printsTables(
    limits,
    async () => (await import("../ctl/show_limits.ts")).showLimits,
  );
  withAdminOptions(limits.command("reset"))
    .description("Make budgets unused, all or those selected")
    .option("--limit <name>", "only the limit of this name, as `limits` shows")
    .option("--key <key>", "only budgets of this key")
    .action(async (options: ResetLimitsOptions) => {
      const { resetLimits } = await import("../ctl/show_usage.ts");
      await resetLimits(options);
    });
}

/** Adds `usage`. */
export function addUsageCommand(proxy: Command, name: string): void {
  const usage = withGatewayOptions(proxy.command("usage"))
    .description("Show who used how many LLM tokens, and what they cost")
    .addOption(
      new Option("--by <group>", "add up by key, model or route")
        .choices(["key", "model", "route"]).default("key"),
    )
    .option("--since <age>", "age of the oldest hour, such as 24h or 7d", "24h")
    .addHelpText("after", help.usageExamples(name));
  printsTables(
    usage,
    async () => (await import("../ctl/show_usage.ts")).showUsage,
  );
}

/** Adds `keys` and `keys refresh`. */
export function addKeysCommands(
  proxy: Command,
  name: string,
  { finish }: Call,
): void {
  const keys = withGatewayOptions(proxy.command("keys"))
    .description("Show keys and metadata of identity providers")
    .addHelpText("after", help.keysExamples(name));
  printsTables(
    keys,
    async () => (await import("../ctl/show_keys.ts")).showKeys,
  );
  const refresh = withGatewayOptions(keys.command("refresh"))
    .description("Fetch keys and metadata of identity providers again");
  printsTables(
    refresh,
    async () => (await import("../ctl/show_keys.ts")).refreshKeys,
    { finish },
  );
}

/** Adds `audit`. */
export function addAuditCommand(proxy: Command): void {
  const audit = withGatewayOptions(proxy.command("audit")).description(
    "Show the last administrative changes: who, what, and the outcome",
  );
  printsTables(
    audit,
    async () => (await import("../ctl/show_audit.ts")).showAudit,
  );
}

/** Adds `memory`. */
export function addMemoryCommand(proxy: Command, name: string): void {
  const memory = withGatewayOptions(proxy.command("memory"))
    .description("Show memory usage and the occupancy of bounded stores")
    .addHelpText("after", help.memoryExamples(name));
  printsTables(
    memory,
    async () => (await import("../ctl/show_memory.ts")).showMemory,
  );
}

/** Adds `tasks`. */
export function addTasksCommand(proxy: Command, name: string): void {
  const tasks = withGatewayOptions(proxy.command("tasks"))
    .description("Show requests in progress and their phases")
    .addHelpText("after", help.tasksExamples(name));
  printsTables(
    tasks,
    async () => (await import("../ctl/show_tasks.ts")).showTasks,
  ).addOption(
    new Option(
      "--limit <n>",
      "maximum number of connections and requests (default: 1000)",
    ).argParser(wholeNumber(1, 100_000)),
  );
}

/** Adds `profile cpu` and `profile heap`. */
export function addProfileCommands(
  proxy: Command,
  name: string,
  { finish }: Call,
): void {
  const profile = proxy.command("profile").description(
    "Take a profile for go tool pprof",
  );
  const add = (kind: "cpu" | "heap", description: string) => {
    const command = withGatewayOptions(profile.command(kind))
      .description(description)
      .option(
        "-o, --output <file>",
        `file to write (default: gateway-${kind}-<time>.pb.gz)`,
      )
      .addHelpText("after", help.profileExamples(name));
    return worksOnProxies<ProfileOptions>(command, async () => {
      const { takeProfile } = await import("../ctl/take_profile.ts");
      return (options) => takeProfile(kind, options);
    }, { first: true, finish });
  };
  add("cpu", "Take a CPU profile (gateways on Linux only)").addOption(
    new Option("--seconds <n>", "sampling duration, 1 to 300").default(30)
      .argParser(wholeNumber(1, 300)),
  );
  add("heap", "Take a heap profile: allocation sites of live memory").addOption(
    new Option(
      "--seconds <n>",
      "count all allocations in this time instead, 1 to 300",
    ).argParser(wholeNumber(1, 300)),
  );
}
