import process from "node:process";
import { describeError } from "../src/base/errors.ts";
import { exitCodes, UsageError } from "./process/exit.ts";
import { printError } from "./output/output.ts";
import { parseCommandLine } from "./commands/program.ts";

/** Runs the command that `args` describe; returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const name = programName();
  try {
    return await parseCommandLine(name, args);
  } catch (error) {
    // Messages may quote untrusted servers and files.
    const { printableLines } = await import("./output/printable.ts");
    const text = printableLines(describeError(error).trimEnd());
    await printError(`${name}: ${text}\n`);
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failure;
  }
}

/** Returns the name under which the program was started, such as by a link; the packaged executable passes it on. */
function programName(): "gateway" | "gwctl" {
  const command = Deno.env.get("GATEWAY_ARGV0") ?? process.argv0;
  return /(?:^|[/\\])gwctl(?:\.exe)?$/i.test(command) ? "gwctl" : "gateway";
}
