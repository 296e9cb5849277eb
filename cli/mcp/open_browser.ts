import { printError } from "../output/output.ts";

/** Opens a URL in the user's browser, and prints it for those without one. */
export async function openBrowser(url: string): Promise<void> {
  await printError(`Log in at ${url}\n`);
  const [command, ...args] = browserCommand(Deno.env.get("BROWSER"), url);
  if (command === undefined) return;
  try {
    await new Deno.Command(command, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  } catch (error) {
    // The user has the URL, so a missing browser is not an error.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Returns the command of `$BROWSER`, such as `firefox --new-window %s`, else that of the system; the URL is one argument. */
export function browserCommand(
  browser: string | undefined,
  url: string,
): readonly string[] {
  const [first = ""] = (browser ?? "").split(":");
  const words = first.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    const command = commands[Deno.build.os];
    return command === undefined ? [] : [command, url];
  }
  return words.some((word) => word.includes("%s"))
    ? words.map((word) => word.replaceAll("%s", () => url))
    : [...words, url];
}

/** Full paths, so that nothing else of the `PATH` runs. */
const commands: Partial<Record<typeof Deno.build.os, string>> = {
  linux: "/usr/bin/xdg-open",
  darwin: "/usr/bin/open",
};
