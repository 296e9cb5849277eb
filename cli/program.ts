import {
  Command,
  CommanderError,
  forEachCommand,
  once,
  Option,
  parsePort,
  pathOf,
} from "./command.ts";
import { addControlCommands, type Call } from "./control_commands.ts";
import { nearest } from "../src/api/suggest.ts";
import { version } from "../src/base/version.ts";
import { exitCodes } from "./exit.ts";
import * as help from "./help.ts";
import { print, printError } from "./output.ts";
import { shells } from "./shells.ts";

/** The commands, described; what they do is loaded when one of them runs. */
export type Program = Command;

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
  }
  await print(texts.out);
  await printError(texts.error);
  return exitCode;
}

/** The commands of `gateway` or `gwctl`. */
export function createProgram(
  name: "gateway" | "gwctl",
  call: Call,
): Program {
  // Options belong to the command they follow: `-f` of the gateway is not that of a command.
  const program = new Command(name).enablePositionalOptions();
  if (name === "gateway") addGatewayCommands(program, call);
  else {
    program.description(help.control).addHelpText(
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
    .version(`gateway ${version}`, "-V, --version", "print the version");
}

function addGatewayCommands(
  program: Command,
  call: Call,
): void {
  program
    .description(help.gateway)
    .usage("-f FILE|DIR|-\n       gateway <command>")
    .addOption(
      new Option(
        "-f, --file <path>",
        "configuration: a file, a directory of files, or - for standard input",
      ).argParser(once),
    )
    .option("--validate-only", "check the configuration and exit")
    .addHelpText("after", help.gatewayExamples)
    .action(async (options: { file?: string; validateOnly?: boolean }) => {
      const [unknown] = program.args;
      if (unknown !== undefined) refuseCommand(program, unknown);
      if (options.file === undefined) program.help({ error: true });
      const { run, validate } = await import("./run.ts");
      call.finish(
        options.validateOnly === true
          ? await validate(options.file)
          : await run(options.file),
      );
    });
  program.command("dev")
    .description(help.dev)
    .addHelpText("after", help.devExamples)
    .addOption(
      new Option("--port <port>", "port of the gateway").default(3000)
        .argParser(parsePort),
    )
    .option(
      "--admin <address>",
      "address of the admin interface",
      "localhost:15000",
    )
    .option(
      "--stats <address>",
      "address of metrics and health",
      "localhost:15020",
    )
    .action(async (options: { port: number; admin: string; stats: string }) => {
      const { runPlayground } = await import("./dev_command.ts");
      call.finish(await runPlayground(options));
    });
  addVersionCommand(program);
  program.command("schema")
    .description("Print the JSON Schema of the configuration file")
    .option("--markdown", "a reference of all fields, in Markdown")
    .addHelpText("after", help.schemaExamples)
    .action(async ({ markdown }: { markdown?: boolean }) => {
      const { printSchema } = await import("./schema.ts");
      await printSchema(markdown === true);
    });
  const control = program.command("ctl").description(help.control);
  addControlCommands(
    control.addHelpText("after", help.controlExamples("gateway ctl")),
    "gateway ctl",
    call,
  );
}

function addVersionCommand(program: Command): void {
  program.command("version")
    .description("Print the version")
    .option("--json", "with the versions of the runtime, as JSON")
    .action(async ({ json }: { json?: boolean }) => {
      const { printVersion } = await import("./version.ts");
      await printVersion(json === true);
    });
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

/** Unlike Commander, which cannot tell a command from an argument once there is a default action. */
function refuseCommand(program: Command, word: string): never {
  const names = ["help", ...program.commands.map((command) => command.name())];
  const near = /[./]/.test(word) ? `gateway -f ${word}` : nearest(word, names);
  const hint = near === undefined ? "" : `\n(Did you mean ${near}?)`;
  return program.error(`error: unknown command '${word}'${hint}`);
}
