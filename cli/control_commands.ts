import {
  collect,
  type Command,
  Option,
  parseCount,
  parsePort,
} from "./command.ts";
import type { ShowConfigOptions } from "./ctl/config.ts";
import type { ShowLimitsOptions } from "./ctl/limits.ts";
import type { ExplainOptions } from "./ctl/explain.ts";
import type { ControlLogOptions } from "./ctl/log.ts";
import type { TraceOptions } from "./ctl/trace/options.ts";
import {
  addBackendsCommand,
  addDiagnosticCommands,
} from "./diagnostic_commands.ts";
import * as help from "./help.ts";
import {
  adminOption,
  adminPortOption,
  tokenFileOption,
  withAdminOptions,
} from "./admin_options.ts";

/** How the program was called. */
export interface Call {
  readonly args: readonly string[];
  /** Receives the exit code of the command that ran; 0 without. */
  finish(exitCode: number): void;
}

/**
 * Adds what can be asked of a running gateway.
 * @param name Of the program, for examples: `gwctl` or `gateway ctl`.
 */
export function addControlCommands(
  program: Command,
  name: string,
  call: Call,
): void {
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
  withAdminOptions(proxy.command("limits"))
    .description("Show the rate limits and what is left of each")
    .addOption(
      new Option("-o, --output <format>", "output format").choices([
        "table",
        "yaml",
        "json",
      ]).default("table"),
    )
    .addHelpText("after", help.limitsExamples(name))
    .action(
      async (options: ShowLimitsOptions) => {
        const { showLimits } = await import("./ctl/limits.ts");
        await showLimits(options);
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
    )
    .option("--reset", "return to the configured levels first")
    .addHelpText("after", help.logExamples(name))
    .action(
      async (options: ControlLogOptions) => {
        const { controlLog } = await import("./ctl/log.ts");
        await controlLog(options);
      },
    );
  addBackendsCommand(config, name);
  addDiagnosticCommands(proxy, name, call);
  addTraceCommand(proxy, name, call);
  addExplainCommand(program, name);
}

function addExplainCommand(program: Command, name: string): void {
  withAdminOptions(program.command("explain"))
    .description("Say why a request failed, and what to do about it")
    .argument(
      "[id]",
      "its x-request-id; without, the requests that failed last",
    )
    .addOption(
      new Option("-o, --output <format>", "output format").choices([
        "text",
        "json",
      ]).default("text"),
    )
    .addHelpText("after", help.explainExamples(name))
    .action(async (id: string | undefined, options: ExplainOptions) => {
      const { explain } = await import("./ctl/explain.ts");
      await explain(options, id);
    });
}

function addTraceCommand(
  proxy: Command,
  name: string,
  call: Call,
): void {
  proxy.command("trace")
    .description("Show what happens to a request, step by step")
    .argument("[gateway...]", "gateway/<name>; the only one when left out")
    .usage("[gateway/<name>] [options] [-- <url> [curl args]]")
    .option("--local", "the gateway on this machine; the default")
    .addOption(
      new Option("--port <listener>", "port of a listener").argParser(
        parsePort,
      ),
    )
    .addOption(adminPortOption("adminPort"))
    .addOption(adminOption("adminPort"))
    .addOption(tokenFileOption())
    .option("--raw", "print JSON Lines")
    .option("--filter <cel>", "trace only requests for which this is true")
    .addOption(
      new Option("--count <n>", "how many requests (default: 1)").argParser(
        parseCount,
      ),
    )
    .option(
      "--file <jsonl>",
      "a trace saved with --raw in place of a running gateway; - for standard input",
    )
    .addHelpText("after", help.traceExamples(name))
    .action(async (
      words: string[],
      options: TraceOptions,
    ) => {
      const { traceRequests } = await import("./ctl/trace.ts");
      // Commander gives all words alike.
      const dashes = call.args.indexOf("--");
      const request = dashes < 0 ? undefined : call.args.slice(dashes + 1);
      const before = words.slice(0, words.length - (request?.length ?? 0));
      call.finish(await traceRequests(options, before, request));
    });
}
