import tab from "@bomb.sh/tab";
import describeTo from "@bomb.sh/tab/commander";
import { logLevels, logModules } from "../../src/base/log/log_filter.ts";
import { type Command, shells } from "./command.ts";
import { UsageError } from "../process/exit.ts";

type Offer = (value: string, description: string) => void;

/**
 * Prints the completion script for a shell, which calls `<name> complete`.
 * @throws {UsageError} When the shell is not supported.
 */
export function printCompletionScript(
  name: string,
  shell: string | undefined,
): void {
  if (shell === undefined || !shells.includes(shell)) {
    const seen = shell === undefined ? "no shell" : `"${shell}"`;
    throw new UsageError(
      `Cannot print a completion script: expected ${
        shells.join(", ")
      }, got ${seen}`,
    );
  }
  // deno-lint-ignore no-console -- prints its result
  if (shell === "bash") console.log(bashScript(name));
  else tab.setup(name, name, shell);
}

/**
 * Returns a script that needs nothing but bash and may be sourced twice; that of the package needs `bash-completion`, fails when
 * sourced again, and evaluates the words that were typed.
 */
function bashScript(name: string): string {
  return `# bash completion for ${name}
__${name}_complete() {
    local out directive current word
    local -a words
    # At white space only: COMP_WORDS is also split at "=" and ":".
    read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
    [[ \${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] || words+=("")
    current=\${words[\${#words[@]} - 1]}
    out=$(${name} complete -- "\${words[@]:1}" 2>/dev/null) || return
    directive=\${out##*:}
    # Bash replaces what follows the last of these.
    local head=\${current%"\${current##*[=:]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        [[ -z $word || $word != "$current"* ]] || COMPREPLY+=("\${word#"$head"}")
    done <<< "\${out%:*}"
    # The words end with a part that is continued: a folder, or "module=".
    [[ \${#COMPREPLY[@]} -ne 1 || \${COMPREPLY[0]} != *[/=] ]] || directive=$((directive | 2))
    if ((directive & 2)); then compopt -o nospace 2>/dev/null; fi
}
complete -o nosort -F __${name}_complete ${name}`;
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
