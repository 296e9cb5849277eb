import tab from "@bomb.sh/tab";
import describeTo from "@bomb.sh/tab/commander";
import type { Program } from "./program.ts";

/** Prints the script that makes `shell` ask `<name> complete` for words. */
export function printCompletionScript(name: string, shell: string): void {
  tab.setup(name, name, shell);
}

/**
 * Prints what may stand at the place of the last word, one candidate in a line.
 * @param program Without completion commands of its own.
 */
export async function completeWords(
  program: Program,
  words: readonly string[],
): Promise<void> {
  describeTo(program, { completionCommandName: "completion" });
  const paths = await pathsFor(words.at(-1) ?? "");
  const offerPaths = (
    complete: (value: string, description: string) => void,
  ) => {
    for (const path of paths) complete(path, "");
  };
  tab.option("file", "configuration", offerPaths, "f");
  tab.parse([...words]);
}

/** Entries of the folder that `start` leads into; folders end with a slash. */
async function pathsFor(start: string): Promise<readonly string[]> {
  const folder = start.slice(0, start.lastIndexOf("/") + 1);
  const paths: string[] = [];
  try {
    for await (
      const { name, isDirectory } of Deno.readDir(folder === "" ? "." : folder)
    ) {
      paths.push(folder + name + (isDirectory ? "/" : ""));
    }
  } catch {
    // No such folder, or not ours to read: nothing to offer.
    return [];
  }
  return paths.sort();
}
