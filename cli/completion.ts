import tab from "@bomb.sh/tab";
import describeTo from "@bomb.sh/tab/commander";
import { logLevels } from "../src/base/log_filter.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./process/exit.ts";
import { logModules } from "./output/log_modules.ts";
import { shells } from "./shells.ts";

type Offer = (value: string, description: string) => void;

/**
 * Prints the completion script for a shell, which calls `<name> complete`.
 * @throws {UsageError} When the shell is not supported.
 */
export function printCompletionScript(name: string, shell: string): void {
  if (!shells.includes(shell)) {
    throw new UsageError(
      `Cannot print a completion script: expected ${
        shells.join(", ")
      }, got "${shell}"`,
    );
  }
  tab.setup(name, name, shell);
}

/**
 * Prints candidates for the last word, one per line.
 * @param program A program without completion commands.
 */
export async function completeWords(
  program: Command,
  words: readonly string[],
): Promise<void> {
  describeTo(program, { completionCommandName: "completion" });
  const paths = await pathsFor(words.at(-1) ?? "");
  tab.option("file", "configuration", offer(paths), "f");
  tab.commands.get("completion")?.argument("shell", offer(shells));
  const control = program.name() === "gwctl" ? "proxy" : "ctl proxy";
  tab.commands.get(`${control} config all`)
    ?.option("file", "a saved dump", offer(paths));
  tab.commands.get(`${control} trace`)
    ?.option("file", "a saved trace", offer(paths));
  for (const kind of ["cpu", "heap"]) {
    tab.commands.get(`${control} profile ${kind}`)
      ?.option("output", "file to write", offer(paths));
  }
  tab.commands.get(`${control} log`)
    ?.option("level", "level", offer(["off", ...logLevels]))
    .option("set", "module=level", offer(logModules.map((name) => `${name}=`)));
  tab.parse([...words]);
}

function offer(values: readonly string[]): (complete: Offer) => void {
  return (complete) => {
    for (const value of values) complete(value, "");
  };
}

/** Lists the directory of `start`; directories have a trailing slash. */
async function pathsFor(start: string): Promise<readonly string[]> {
  const directory = start.slice(0, start.lastIndexOf("/") + 1);
  const paths: string[] = [];
  try {
    for await (
      const { name, isDirectory } of Deno.readDir(
        directory === "" ? "." : directory,
      )
    ) {
      paths.push(directory + name + (isDirectory ? "/" : ""));
    }
  } catch {
    // A missing or unreadable directory has no candidates.
    return [];
  }
  return paths.sort();
}
