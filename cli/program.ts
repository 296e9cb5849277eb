import { VERSION } from "../src/base/version.ts";
import {
  type Call,
  Command,
  CommanderError,
  forEachCommand,
  pathOf,
} from "./command.ts";
import { addControlCommands } from "./commands/control_commands.ts";
import {
  addGatewayCommands,
  addVersionCommand,
} from "./commands/gateway_command.ts";
import * as help from "./commands/help.ts";
import { exitCodes } from "./process/exit.ts";
import { print, printError } from "./output/output.ts";
import { shells } from "./shells.ts";

type ExitCode = number;

/**
 * Runs the command that `args` name; answers its exit code.
 * @throws {Failure | UsageError} From the command itself.
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
  // Commands inherit this, so it comes after they were made; the action tells a wrong command from an argument.
  program.allowExcessArguments(name === "gateway");
  forEachCommand(program, (command) => {
    command.exitOverride().configureOutput({
      writeOut: (text) => texts.out += text,
      writeErr: (text) => texts.error += text,
    });
  });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander answers 1 for what is the caller's mistake, and for help that was shown because something was missing.
    exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (isMisplacedOption(error)) texts.error += help.OPTIONS_FOLLOW;
  }
  await print(texts.out);
  await printError(texts.error);
  return exitCode;
}

/** Every command that asks a gateway has these: unknown they are only to what stands before its name. */
function isMisplacedOption({ code, message }: CommanderError): boolean {
  return code === "commander.unknownOption" &&
    /'(-p\d*|--admin|--admin-port|--token-file)'/.test(message);
}

function createProgram(
  name: "gateway" | "gwctl",
  call: Call,
): Command {
  // Options belong to the command they follow: `-f` of the gateway is not that of a command.
  const program = new Command(name).enablePositionalOptions();
  if (name === "gateway") addGatewayCommands(program, call);
  else {
    program.description(help.CONTROL).addHelpText(
      "after",
      help.controlExamples(name),
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
    .helpCommand("help [command]", "Show what a command does")
    .version(`gateway ${VERSION}`, "-V, --version", "print the version");
}

function addCompletionCommands(
  program: Command,
  call: Call,
): void {
  const name = program.name() === "gwctl" ? "gwctl" : "gateway";
  program.command("completion")
    .description(
      "Print a script that completes commands and options in your shell",
    )
    .argument("<shell>", `your shell: ${shells.join(", ")}`)
    .addHelpText("after", help.completionExamples(name))
    .action(async (shell: string) => {
      const { printCompletionScript } = await import("./completion.ts");
      printCompletionScript(name, shell);
    });
  // What the script calls at every press of the tab key.
  program.command("complete [words...]", { hidden: true }).action(
    async (words: string[]) => {
      const { completeWords } = await import("./completion.ts");
      await completeWords(createProgram(name, call), words);
    },
  );
}
