import { VERSION } from "../../src/base/version.ts";
import {
  type Call,
  Command,
  CommanderError,
  forEachCommand,
  pathOf,
  shells,
} from "./command.ts";
import { moveLeadingOptions } from "./admin_options.ts";
import { addControlCommands } from "./control_commands.ts";
import { addGatewayCommands, addVersionCommand } from "./gateway_command.ts";
import * as help from "./help.ts";
import { exitCodes } from "../process/exit.ts";
import { print, printError } from "../output/output.ts";

type ExitCode = number;

/** Width of help texts, on every terminal. */
const HELP_COLUMNS = 80;

/**
 * Runs the command of `args`; returns its exit code.
 * @throws {Failure | UsageError} Errors of the command itself.
 */
export async function parseCommandLine(
  name: "gateway" | "gwctl",
  args: readonly string[],
): Promise<ExitCode> {
  const texts = { out: "", error: "" };
  let exitCode: ExitCode = exitCodes.ok;
  const call: Call = { args, finish: (code) => exitCode = code };
  const program = createProgram(name, call);
  addCompletionCommands(program, call);
  // Set after creating the commands, which would inherit it; the action distinguishes an unknown command from an argument.
  program.allowExcessArguments(name === "gateway");
  forEachCommand(program, (command) => {
    command.exitOverride().configureOutput({
      getOutHelpWidth: () => HELP_COLUMNS,
      getErrHelpWidth: () => HELP_COLUMNS,
      writeOut: (text) => texts.out += text,
      writeErr: (text) => texts.error += text,
      outputError: (text, write) => write(text + settingHint(text)),
    });
  });
  try {
    await program.parseAsync(ordered(name, args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander returns 1 for usage errors and for help that is shown because of a missing argument.
    exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
  await print(texts.out);
  await printError(texts.error);
  return exitCode;
}

/** Settings of the configuration that people look for among the options. */
const settings: ReadonlyMap<string, string> = new Map([
  ["--workers", "config.workers"],
  ["--admin-addr", "config.adminAddr"],
  ["--stats-addr", "config.statsAddr"],
  ["--log-level", "config.logging.level"],
]);

function settingHint(error: string): string {
  const [, option = ""] = /unknown option '([^'=]+)/.exec(error) ?? [];
  const setting = settings.get(option);
  return setting === undefined
    ? ""
    : `(Set ${setting} in the configuration instead.)\n`;
}

/** Lets the options that select a gateway precede the command of `gwctl`. */
function ordered(
  name: "gateway" | "gwctl",
  args: readonly string[],
): readonly string[] {
  if (name === "gwctl") return moveLeadingOptions(args);
  const [first, ...rest] = args;
  return first === "ctl" ? [first, ...moveLeadingOptions(rest)] : args;
}

function createProgram(
  name: "gateway" | "gwctl",
  call: Call,
): Command {
  // Options belong to the command that precedes them: `-f` of the gateway differs from that of a command.
  const program = new Command(name).enablePositionalOptions();
  if (name === "gateway") addGatewayCommands(program, call);
  else {
    program.description(help.CONTROL).addHelpText(
      "after",
      help.examplesOf("control", name),
    );
    addControlCommands(program, name, call);
    addVersionCommand(program);
  }
  forEachCommand(program, (command) => {
    command.helpCommand(false).showHelpAfterError(
      `(see "${pathOf(command)} --help")`,
    );
  });
  return program
    .helpCommand("help [command]", "Show help for a command")
    .version(`gateway ${VERSION}`, "-V, --version", "print the version");
}

function addCompletionCommands(
  program: Command,
  call: Call,
): void {
  const name = program.name() === "gwctl" ? "gwctl" : "gateway";
  program.command("completion")
    .description(
      "Print a completion script for your shell",
    )
    .argument("[shell]", `your shell: ${shells.join(", ")}`)
    .addHelpText("after", help.examplesOf("completion", name))
    .action(async (shell?: string) => {
      const { printCompletionScript } = await import("./completion.ts");
      printCompletionScript(name, shell);
    });
  // The script calls this command for each completion.
  program.command("complete [words...]", { hidden: true }).action(
    async (words: string[]) => {
      const { completeWords } = await import("./completion.ts");
      await completeWords(createProgram(name, call), words);
    },
  );
}
