import {
  type Call,
  type Command,
  formatOption,
  Option,
  parsePort,
  wholeNumber,
} from "./command.ts";
import type { ExplainOptions } from "../ctl/show_explanation.ts";
import type { TraceOptions } from "../ctl/trace/trace_options.ts";
import {
  adminOption,
  adminPortOption,
  tokenFileOption,
  withAdminOptions,
  withClusterOptions,
} from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `explain`. */
export function addExplainCommand(program: Command, name: string): void {
  withClusterOptions(withAdminOptions(program.command("explain")))
    .description("Explain why a request failed and how to fix it")
    .argument(
      "[id]",
      "its x-request-id; without, lists recent failed requests",
    )
    .argument("[gateway]", "gateway/<name> in a cluster")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", help.examplesOf("explain", name))
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        options: ExplainOptions,
      ) => {
        const words = [first, second];
        const isGateway = (word?: string) => word?.startsWith("gateway/");
        const { explainIn } = await import("../cluster/explain_in_cluster.ts");
        await explainIn(options, {
          id: words.find((word) => !isGateway(word)),
          gateway: words.find(isGateway),
        });
      },
    );
}

/** Adds `trace`; `isHidden` leaves it out of the list of commands. */
export function addTraceCommand(
  parent: Command,
  name: string,
  call: Call,
  isHidden = false,
): void {
  const command = parent.command("trace", { hidden: isHidden })
    .description("Trace requests step by step")
    .argument("[gateway...]", "gateway/<name> (default: the only one)")
    .usage("[gateway/<name>] [options] [-- <url> [curl args]]")
    .option("--local", "the gateway on this machine (default)");
  withClusterOptions(command)
    .addOption(
      new Option("--port <listener>", "port of a listener")
        .argParser(parsePort),
    )
    .addOption(adminPortOption("adminPort"))
    .addOption(adminOption("adminPort"))
    .addOption(tokenFileOption())
    .option("--raw", "print JSON Lines")
    .option("--filter <cel>", "trace only requests that match this expression")
    .addOption(
      new Option("--expression <cel>", "the same as --filter")
        .conflicts("filter").hideHelp(),
    )
    .addOption(
      new Option("--count <n>", "number of requests (default: 1)")
        .argParser(wholeNumber(1, 100_000)),
    )
    .option("--follow", "trace requests until you quit, 8 at a time")
    .option(
      "--file <jsonl>",
      "a trace saved with --raw instead of a running gateway; - for standard input",
    )
    .addHelpText("after", help.examplesOf("trace", name))
    .action(async (words: string[], options: TraceOptions) => {
      const { traceRequests } = await import("../cluster/watch_traces.ts");
      // Commander does not distinguish arguments before and after `--`.
      const dashes = call.args.indexOf("--");
      const request = dashes < 0 ? undefined : call.args.slice(dashes + 1);
      const before = words.slice(0, words.length - (request?.length ?? 0));
      call.finish(await traceRequests(options, before, request));
    });
}
