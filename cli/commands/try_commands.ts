import type { TryOptions } from "../ctl/try_change.ts";
import { withAdminOptions } from "./admin_options.ts";
import {
  type Command,
  formatOption,
  InvalidArgumentError,
  Option,
} from "./command.ts";
import { examplesOf } from "./help.ts";

/** Adds `try rule`, `try limit` and `try config`. */
export function addTryCommands(program: Command, name: string): void {
  const attempt = program.command("try")
    .description("Say what a change would do to the last requests")
    .addHelpText("after", examplesOf("try", name));
  const load = () => import("../ctl/try_change.ts");
  addOptions(
    attempt.command("rule")
      .description("Try a rule beside those in force")
      .argument(
        "<expression>",
        "rule (CEL), such as 'llm.requestModel in apiKey.models'",
      )
      .option("--deny", "deny requests for which it is true")
      .option("--route <name>", "only requests of this route"),
  ).action(async (expression: string, options: TryOptions) =>
    (await load()).tryRule(expression, options)
  );
  addOptions(
    attempt.command("limit")
      .description("Try a limit beside those in force; it is unused at first")
      .argument(
        "<limit>",
        "as in the file, such as '{requests: 10, unit: Minutes, key: apiKey.team}'",
      )
      .option("--route <name>", "only requests of this route"),
  ).action(async (limit: string, options: TryOptions) =>
    (await load()).tryLimit(limit, options)
  );
  addOptions(
    attempt.command("config")
      .description("Try the routes, rules and limits of a configuration")
      .argument("<file>", "file, or directory of files"),
  ).action(async (file: string, options: TryOptions) =>
    (await load()).tryConfig(file, options)
  );
}

function addOptions(command: Command): Command {
  return withAdminOptions(command).addOption(
    new Option("--against <last=n>", "number of requests, the newest")
      .default({ last: 1000 }, "last=1000").argParser(readAgainst),
  ).addOption(formatOption("table", "yaml", "json"));
}

function readAgainst(text: string): TryOptions["against"] {
  const [, digits = ""] = /^last=([0-9]{1,4})$/.exec(text) ?? [];
  const last = Number(digits);
  if (last >= 1 && last <= 1000) return { last };
  throw new InvalidArgumentError("Expected last=1 to last=1000.");
}
