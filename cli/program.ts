import {
  Command,
  CommanderError,
  InvalidArgumentError,
  Option,
} from "commander";
import { nearest } from "../src/api/suggest.ts";
import { exitCodes } from "./exit.ts";
import * as help from "./help.ts";
import { print, printError } from "./output.ts";

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
  const program = createProgram(name, (code) => exitCode = code);
  addCompletionCommands(program, (code) => exitCode = code);
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

/** The commands of `gateway` or `gwctl`; `finish` receives the exit code of the one that ran. */
export function createProgram(
  name: "gateway" | "gwctl",
  finish: (code: ExitCode) => void,
): Program {
  // Options belong to the command they follow: `-f` of the gateway is not that of a command.
  const program = new Command(name).enablePositionalOptions();
  if (name === "gateway") addGatewayCommands(program, finish);
  else {
    program.description(help.control).addHelpText(
      "after",
      help.controlExamples(name),
    );
    addControlCommands(program, name);
    addVersionCommand(program);
  }
  forEachCommand(program, (command) => {
    command.helpCommand(false).showHelpAfterError(
      `(see "${pathOf(command)} --help")`,
    );
  });
  return program;
}

function addGatewayCommands(
  program: Command,
  finish: (code: ExitCode) => void,
): void {
  program
    .description(help.gateway)
    .usage("-f FILE|DIR|-\n       gateway <command>")
    .option(
      "-f, --file <path>",
      "configuration: a file, a folder of files, or - for standard input",
    )
    .option("--validate-only", "check the configuration and exit")
    .addHelpText("after", help.gatewayExamples)
    .action(async (options: { file?: string; validateOnly?: boolean }) => {
      const [unknown] = program.args;
      if (unknown !== undefined) refuseCommand(program, unknown);
      if (options.file === undefined) program.help({ error: true });
      const { run, validate } = await import("./run.ts");
      finish(
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
      finish(await runPlayground(options));
    });
  addVersionCommand(program);
  program.command("schema")
    .description("Print the JSON Schema of the configuration file")
    .addHelpText("after", help.schemaExamples)
    .action(async () => {
      const { printSchema } = await import("./schema.ts");
      await printSchema();
    });
  const control = program.command("ctl").description(help.control);
  addControlCommands(
    control.addHelpText("after", help.controlExamples("gateway ctl")),
    "gateway ctl",
  );
}

function addControlCommands(program: Command, name: string): void {
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
      async (
        options: { file?: string; output: "yaml" | "json" } & AdminOptions,
      ) => {
        const { showConfig } = await import("./ctl/config.ts");
        await showConfig(options);
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
      [],
    )
    .option("--reset", "return to the configured levels first")
    .addHelpText("after", help.logExamples(name))
    .action(
      async (
        options:
          & { level?: string; set: string[]; reset?: boolean }
          & AdminOptions,
      ) => {
        const { controlLog } = await import("./ctl/log.ts");
        await controlLog(options);
      },
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

/** How a command finds the gateway that it talks to. */
export interface AdminOptions {
  readonly local?: boolean;
  readonly port?: number;
  readonly admin?: string;
}

function withAdminOptions(command: Command): Command {
  return command
    .option("--local", "the gateway on this machine; the default")
    .addOption(
      new Option(
        "-p, --port <port>",
        "admin port on this machine (default: 15000)",
      ).argParser(parsePort),
    )
    .addOption(
      new Option(
        "--admin <address>",
        'admin address: "host:port" or "unix:<path>"',
      ).conflicts("port"),
    );
}

function addCompletionCommands(
  program: Command,
  finish: (code: ExitCode) => void,
): void {
  const name = program.name() === "gwctl" ? "gwctl" : "gateway";
  const shells = ["bash", "zsh", "fish"];
  program.command("completion")
    .description(
      "Print a script that completes commands and options in your shell",
    )
    .addArgument(
      program.createArgument("<shell>", "your shell").choices(shells),
    )
    .addHelpText("after", help.completionExamples(name))
    .action(async (shell: string) => {
      const { printCompletionScript } = await import("./completion.ts");
      printCompletionScript(name, shell);
    });
  // What the script calls at every press of the tab key.
  program.command("complete [words...]", { hidden: true }).action(
    async (words: string[]) => {
      const { completeWords } = await import("./completion.ts");
      await completeWords(createProgram(name, finish), words);
    },
  );
}

/** Unlike Commander, which cannot tell a command from an argument once there is a default action. */
function refuseCommand(program: Command, word: string): never {
  const near = nearest(word, program.commands.map((command) => command.name()));
  const hint = near === undefined ? "" : `\n(Did you mean ${near}?)`;
  return program.error(`error: unknown command '${word}'${hint}`);
}

function forEachCommand(
  command: Command,
  visit: (command: Command) => void,
): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Such as `gateway ctl proxy log`. */
function pathOf(command: Command): string {
  return command.parent === null
    ? command.name()
    : `${pathOf(command.parent)} ${command.name()}`;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^[0-9]{1,5}$/.test(text) || port < 1 || port > 65535) {
    throw new InvalidArgumentError("Expected a port from 1 to 65535.");
  }
  return port;
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
