import { type Call, type Command, once, Option } from "./command.ts";
import type { DiffOptions } from "../ctl/diff_configurations.ts";
import { withAdminOptions } from "./admin_options.ts";
import * as help from "./help.ts";

/** Adds `run`, `validate`, `import` and `config diff`. */
export function addRunCommands(program: Command, call: Call): void {
  addRunCommand(program, call);
  addValidateCommand(program, call);
  addImportCommand(program, call);
  const diff = program.command("config")
    .description("Compare configurations")
    .command("diff");
  withAdminOptions(diff)
    .description("Show what a file would change in the running gateway")
    .argument("<file>", "configuration: a file or a directory of files")
    .argument("[other]", "compare with this configuration instead")
    .option("--exit-code", "exit with 1 if there are differences")
    .addHelpText("after", help.DIFF_EXAMPLES)
    .action(
      async (
        file: string,
        other: string | undefined,
        options: DiffOptions,
      ) => {
        const { diffConfigurations } = await import(
          "../ctl/diff_configurations.ts"
        );
        call.finish(
          other === undefined
            ? await diffConfigurations(file, undefined, options)
            : await diffConfigurations(other, file, options),
        );
      },
    );
}

function addImportCommand(program: Command, call: Call): void {
  program.command("import")
    .description(
      "Convert a configuration of agentgateway, LiteLLM or Kong, or mcpServers",
    )
    .argument("<file>", "YAML or JSON, or - for standard input")
    .option("-o, --output <file>", "new file to write (default: print it)")
    .addHelpText("after", help.IMPORT_EXAMPLES)
    .action(async (file: string, { output }: { output?: string }) => {
      const { importFile } = await import("../import/import_file.ts");
      call.finish(await importFile(file, output));
    });
}

/** Creates the option for the configuration. */
export function fileOption(): Option {
  return new Option(
    "-f, --file <path>",
    "configuration: a file, a directory of files, or - for standard input",
  ).argParser(once);
}

function addRunCommand(program: Command, call: Call): void {
  const command = program.command("run");
  command.description("Run the gateway, like gateway -f")
    .argument("[file]", "configuration, in place of -f")
    .addOption(fileOption())
    .action(async (word: string | undefined, options: { file?: string }) => {
      const file = chooseFile(command, word, options.file);
      const { run } = await import("../run/run.ts");
      call.finish(await run(file));
    });
}

function addValidateCommand(program: Command, call: Call): void {
  const command = program.command("validate");
  command.description("Check a configuration, like --validate-only")
    .argument("[file]", "configuration, in place of -f")
    .addOption(fileOption())
    .option("--strict", "warnings are errors")
    .action(
      async (
        word: string | undefined,
        { file, ...options }: { file?: string; strict?: boolean },
      ) => {
        const chosen = chooseFile(command, word, file);
        const { validate } = await import("../run/run.ts");
        call.finish(await validate(chosen, options));
      },
    );
}

function chooseFile(
  command: Command,
  word: string | undefined,
  option: string | undefined,
): string {
  if (word !== undefined && option !== undefined) {
    command.error("error: expected one configuration, got a file and -f");
  }
  const file = word ?? option;
  if (file === undefined) command.help({ error: true });
  return file;
}
