const program = new URL("stdio_server.ts", import.meta.url).pathname;

/** Returns the `stdio` of a server that runs `stdio_server.ts` with Deno. */
export function stdioServer(
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    command: Deno.execPath(),
    args: ["run", "-A", "--no-check", program],
    ...more,
  };
}

/** Reports whether a process exists; one that has ended, and that nobody has waited for, does not count. */
export function isAlive(pid: number): boolean {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return !/\) Z /.test(status);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Resolves when a process has ended. */
export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((done) => setTimeout(done, 20));
}
