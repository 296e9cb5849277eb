import {
  type Call,
  type Command,
  formatOption,
  Option,
  parsePort,
  wholeNumber,
} from "../command.ts";
import type { ExplainOptions } from "../ctl/show_explanation.ts";
import type { TraceOptions } from "../ctl/trace/trace_options.ts";
import {
  adminOption,
  adminPortOption,
  tokenFileOption,
  withAdminOptions,
} from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `explain`. */
export function addExplainCommand(program: Command, name: string): void {
  withAdminOptions(program.command("explain"))
    .description("Explain why a request failed and how to fix it")
    .argument(
      "[id]",
      "its x-request-id; without, lists recent failed requests",
    )
    .addOption(formatOption("text", "json"))
    .addHelpText("after", help.explainExamples(name))
    .action(async (id: string | undefined, options: ExplainOptions) => {
      const { explain } = await import("../ctl/show_explanation.ts");
      await explain(options, id);
    });
}

/** Adds `trace`. */
export function addTraceCommand(
  proxy: Command,
  name: string,
  call: Call,
): void {
  proxy.command("trace")
    .description("Trace requests step by step")
    .argument("[gateway...]", "gateway/<name> (default: the only one)")
    .usage("[gateway/<name>] [options] [-- <url> [curl args]]")
    .option("--local", "the gateway on this machine (default)")
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
      new Option("--count <n>", "number of requests (default: 1)")
        .argParser(wholeNumber(1, 100_000)),
    )
    .option(
      "--file <jsonl>",
      "a trace saved with --raw instead of a running gateway; - for standard input",
    )
    .addHelpText("after", help.traceExamples(name))
    .action(async (words: string[], options: TraceOptions) => {
      const { traceRequests } = await import("../ctl/watch_traces.ts");
      // Commander does not distinguish arguments before and after `--`.
      const dashes = call.args.indexOf("--");
      const request = dashes < 0 ? undefined : call.args.slice(dashes + 1);
      const before = words.slice(0, words.length - (request?.length ?? 0));
      call.finish(await traceRequests(options, before, request));
    });
}
