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

/** Adds `explain`, about requests that failed. */
export function addExplainCommand(program: Command, name: string): void {
  withAdminOptions(program.command("explain"))
    .description("Say why a request failed, and what to do about it")
    .argument(
      "[id]",
      "its x-request-id; without, the requests that failed last",
    )
    .addOption(formatOption("text", "json"))
    .addHelpText("after", help.explainExamples(name))
    .action(async (id: string | undefined, options: ExplainOptions) => {
      const { explain } = await import("../ctl/show_explanation.ts");
      await explain(options, id);
    });
}

/** Adds `trace`, about requests that are to come. */
export function addTraceCommand(
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
      new Option("--port <listener>", "port of a listener")
        .argParser(parsePort),
    )
    .addOption(adminPortOption("adminPort"))
    .addOption(adminOption("adminPort"))
    .addOption(tokenFileOption())
    .option("--raw", "print JSON Lines")
    .option("--filter <cel>", "trace only requests for which this is true")
    .addOption(
      new Option("--count <n>", "how many requests (default: 1)")
        .argParser(wholeNumber(1, 100_000)),
    )
    .option(
      "--file <jsonl>",
      "a trace saved with --raw in place of a running gateway; - for standard input",
    )
    .addHelpText("after", help.traceExamples(name))
    .action(async (words: string[], options: TraceOptions) => {
      const { traceRequests } = await import("../ctl/watch_traces.ts");
      // Commander gives all words alike.
      const dashes = call.args.indexOf("--");
      const request = dashes < 0 ? undefined : call.args.slice(dashes + 1);
      const before = words.slice(0, words.length - (request?.length ?? 0));
      call.finish(await traceRequests(options, before, request));
    });
}
