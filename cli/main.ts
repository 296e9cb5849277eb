import process from "node:process";
import { describeError } from "../src/base/errors.ts";
import { exitCodes, UsageError } from "./process/exit.ts";
import { printError } from "./output/output.ts";
import { parseCommandLine } from "./program.ts";

/** Runs the command that `args` describe; answers the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const name = programName();
  try {
    return await parseCommandLine(name, args);
  } catch (error) {
    // Messages quote what servers and files say.
    const { printableLines } = await import("./output/printable.ts");
    const text = printableLines(describeError(error).trimEnd());
    await printError(`${name}: ${text}\n`);
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failure;
  }
}

/** `gwctl` when started under that name, as through a link; the packed executable passes its own name on. */
function programName(): "gateway" | "gwctl" {
  const command = Deno.env.get("GATEWAY_ARGV0") ?? process.argv0;
  return /(?:^|[/\\])gwctl(?:\.exe)?$/i.test(command) ? "gwctl" : "gateway";
}
