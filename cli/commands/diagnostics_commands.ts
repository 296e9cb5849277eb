import {
  type Call,
  type Command,
  formatOption,
  Option,
  wholeNumber,
} from "./command.ts";
import type { TableOptions } from "../output/print_as.ts";
import type { ProfileOptions } from "../ctl/take_profile.ts";
import type { ResetLimitsOptions, UsageOptions } from "../ctl/show_usage.ts";
import type { ShowTasksOptions } from "../ctl/show_tasks.ts";
import { withAdminOptions, withGatewayOptions } from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `limits`. */
export function addLimitsCommand(proxy: Command, name: string): void {
  const limits = withGatewayOptions(proxy.command("limits"))
    .description("Show rate limits and their remaining budgets")
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.limitsExamples(name))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showLimits } = await import("../ctl/show_limits.ts");
      await forEachProxy(options, gateway, showLimits);
    });
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
  withGatewayOptions(proxy.command("usage"))
    .description("Show who used how many LLM tokens, and what they cost")
    .addOption(
      new Option("--by <group>", "add up by key, model or route")
        .choices(["key", "model", "route"]).default("key"),
    )
    .option("--since <age>", "age of the oldest hour, such as 24h or 7d", "24h")
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.usageExamples(name))
    .action(async (gateway: string | undefined, options: UsageOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showUsage } = await import("../ctl/show_usage.ts");
      await forEachProxy(options, gateway, showUsage);
    });
}

/** Adds `keys` and `keys refresh`. */
export function addKeysCommands(
  proxy: Command,
  name: string,
  call: Call,
): void {
  const keys = withGatewayOptions(proxy.command("keys"))
    .description("Show keys and metadata of identity providers")
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.keysExamples(name))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showKeys } = await import("../ctl/show_keys.ts");
      await forEachProxy(options, gateway, showKeys);
    });
  withGatewayOptions(keys.command("refresh"))
    .description("Fetch keys and metadata of identity providers again")
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { refreshKeys } = await import("../ctl/show_keys.ts");
      const codes: number[] = [];
      await forEachProxy(options, gateway, async (options) => {
        codes.push(await refreshKeys(options));
      });
      call.finish(Math.max(...codes));
    });
}

/** Adds `audit`. */
export function addAuditCommand(proxy: Command): void {
  withGatewayOptions(proxy.command("audit"))
    .description(
      "Show the last administrative changes: who, what, and the outcome",
    )
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showAudit } = await import("../ctl/show_audit.ts");
      await forEachProxy(options, gateway, showAudit);
    });
}

/** Adds `memory`. */
export function addMemoryCommand(proxy: Command, name: string): void {
  withGatewayOptions(proxy.command("memory"))
    .description("Show memory usage and the occupancy of bounded stores")
    .addOption(formatOption("table", "yaml", "json"))
    .addHelpText("after", help.memoryExamples(name))
    .action(async (gateway: string | undefined, options: TableOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showMemory } = await import("../ctl/show_memory.ts");
      await forEachProxy(options, gateway, showMemory);
    });
}

/** Adds `tasks`. */
export function addTasksCommand(proxy: Command, name: string): void {
  withGatewayOptions(proxy.command("tasks"))
    .description("Show requests in progress and their phases")
    .addOption(formatOption("table", "yaml", "json"))
    .addOption(
      new Option(
        "--limit <n>",
        "maximum number of connections and requests (default: 1000)",
      )
        .argParser(wholeNumber(1, 100_000)),
    )
    .addHelpText("after", help.tasksExamples(name))
    .action(async (gateway: string | undefined, options: ShowTasksOptions) => {
      const { forEachProxy } = await import("../cluster/for_proxies.ts");
      const { showTasks } = await import("../ctl/show_tasks.ts");
      await forEachProxy(options, gateway, showTasks);
    });
}

/** Adds `profile cpu` and `profile heap`. */
export function addProfileCommands(
  proxy: Command,
  name: string,
  call: Call,
): void {
  const profile = proxy.command("profile").description(
    "Take a profile for go tool pprof",
  );
  const add = (kind: "cpu" | "heap", description: string) =>
    withGatewayOptions(profile.command(kind))
      .description(description)
      .addOption(
        new Option(
          "-o, --output <file>",
          `file to write (default: gateway-${kind}-<time>.pb.gz)`,
        ),
      )
      .addHelpText("after", help.profileExamples(name))
      .action(async (gateway: string | undefined, options: ProfileOptions) => {
        const { forFirstProxy } = await import("../cluster/for_proxies.ts");
        const { takeProfile } = await import("../ctl/take_profile.ts");
        call.finish(
          await forFirstProxy(
            options,
            gateway,
            (options) => takeProfile(kind, options),
          ),
        );
      });
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
