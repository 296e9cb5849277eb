import { type Call, type Command, Option, wholeNumber } from "./command.ts";
import type { ResetLimitsOptions } from "../ctl/change_state.ts";
import type { ProfileOptions } from "../ctl/take_profile.ts";
import type { UsageOptions } from "../ctl/usage.ts";
import type { ViewName, ViewOptions } from "../ctl/views.ts";
import { withAdminOptions, withGatewayOptions } from "./admin_options.ts";
import { examplesOf } from "./help.ts";
import { printsTables, worksOnProxies } from "./proxy_command.ts";

/** Commands that show a part of the state of a running gateway. */
const descriptions: Readonly<Record<ViewName, string>> = {
  arms: "Compare backends of a route: errors, latency, tokens and cost",
  audit: "Show the last administrative changes: who, what, and the outcome",
  backends: "Show backends: health, checks and connections of their endpoints",
  connections: "Show connected clients: who, for how long, and what they do",
  keys: "Show keys and metadata of identity providers",
  limits: "Show rate limits and their remaining budgets",
  mcp: "Show MCP servers: state, era, number of tools and last error",
  memory: "Show memory usage and the occupancy of bounded stores",
  tasks: "Show requests in progress and their phases",
  usage: "Show who used how many LLM tokens and MCP tools, and what they cost",
};

/** Adds the command of a view. @param name Name of the program. */
export function addView(
  parent: Command,
  view: ViewName,
  name: string,
  commandName: string = view,
) {
  const command = withGatewayOptions(parent.command(commandName))
    .description(descriptions[view])
    .addHelpText("after", examplesOf(view, name));
  return printsTables<ViewOptions>(command, async () => {
    const { showView } = await import("../ctl/views.ts");
    return (options) => showView(view, options);
  });
}

/** Adds `limits` and `limits reset`. */
export function addLimitsCommand(proxy: Command, name: string): void {
  const limits = addView(proxy, "limits", name);
  withAdminOptions(limits.command("reset"))
    .description("Make budgets unused, all or those selected")
    .option("--limit <name>", "only the limit of this name, as `limits` shows")
    .option("--key <key>", "only budgets of this key")
    .action(async (options: ResetLimitsOptions) => {
      const { resetLimits } = await import("../ctl/change_state.ts");
      await resetLimits(options);
    });
}

/** Adds `usage`. */
export function addUsageCommand(proxy: Command, name: string): void {
  const usage = withGatewayOptions(proxy.command("usage"))
    .description(descriptions.usage)
    .addHelpText("after", examplesOf("usage", name));
  printsTables<UsageOptions>(
    usage,
    async () => {
      const { printUsageCsv } = await import("../ctl/usage.ts");
      const { showView } = await import("../ctl/views.ts");
      return ({ output, ...options }) =>
        output === "csv"
          ? printUsageCsv(options)
          : showView("usage", { ...options, output });
    },
    { formats: ["table", "yaml", "json", "csv"] },
  )
    .option(
      "--by <columns>",
      "add up by up to four of key, user, team, tag, model, provider, route, server, tool",
      "key",
    )
    .option(
      "--since <age>",
      "age of the oldest hour, such as 7d (default: 24h)",
    )
    .option("--month [month]", "one month (UTC): the current one, or 2026-07")
    .option("--from <day>", "first day (UTC), such as 2026-07-01")
    .option("--to <day>", "last day (UTC)")
    .addOption(
      new Option("--per <period>", "divide by time").choices(["day", "month"]),
    );
}

/** Adds `keys` and `keys refresh`. */
export function addKeysCommands(
  proxy: Command,
  name: string,
  { finish }: Call,
): void {
  const keys = addView(proxy, "keys", name);
  const refresh = withGatewayOptions(keys.command("refresh"))
    .description("Fetch keys and metadata of identity providers again");
  printsTables(
    refresh,
    async () => (await import("../ctl/change_state.ts")).refreshKeys,
    { finish },
  );
}

/** Adds `arms`. */
export function addArmsCommand(proxy: Command, name: string): void {
  addView(proxy, "arms", name)
    .addOption(
      new Option("--range <range>", "span of time that ends now")
        .choices(["15m", "1h", "24h"]).default("1h"),
    )
    .option("--route <name>", "only the backends of this route");
}

/** Adds `connections` and `tasks`. */
export function addTasksCommands(proxy: Command, name: string): void {
  for (const view of ["connections", "tasks"] as const) {
    addView(proxy, view, name).addOption(
      new Option(
        "--limit <n>",
        "maximum number of connections and requests (default: 1000)",
      ).argParser(wholeNumber(1, 100_000)),
    );
  }
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
      .addHelpText("after", examplesOf("profile", name));
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
