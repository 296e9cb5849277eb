import { printError } from "../output/output.ts";

/** Opens a URL in the user's browser, and prints it for those without one. */
export async function openBrowser(url: string): Promise<void> {
  await printError(`Log in at ${url}\n`);
  const command = commands[Deno.build.os];
  if (command === undefined) return;
  try {
    await new Deno.Command(command, {
      args: [url],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  } catch (error) {
    // The user has the URL, so a missing browser is not an error.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Full paths, so that nothing else of the `PATH` runs. */
const commands: Partial<Record<typeof Deno.build.os, string>> = {
  linux: "/usr/bin/xdg-open",
  darwin: "/usr/bin/open",
};
