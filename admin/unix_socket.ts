import type { Handler } from "./router.ts";

/**
 * Serves at a socket that only its user can reach, with the mask from the first moment: one that is opened up and then closed off could be
 * caught in between.
 */
export function servePrivately(
  path: string,
  handler: Handler,
): Deno.HttpServer<Deno.UnixAddr> {
  const mask = Deno.umask(0o177);
  try {
    return Deno.serve({
      path,
      onListen() {},
      handler: (request) => handler(request),
    });
  } finally {
    Deno.umask(mask);
  }
}

/**
 * Makes room for a socket where a process that died left its own.
 * @throws {Error} When another process listens there, or there is something else.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  let file: Deno.FileInfo;
  try {
    file = await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (file.isSocket !== true) {
    throw new Error("there is a file that is not a socket");
  }
  if (await answers(path)) throw new Error("another process is listening");
  await removeIfThere(path);
}

async function answers(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch (error) {
    const isGone = error instanceof Deno.errors.NotFound;
    if (isGone || error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
