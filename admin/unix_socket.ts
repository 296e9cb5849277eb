import type { Handler } from "./http/router.ts";

/**
 * Serves at a socket that only its user can access. The mask applies from its creation, as changing permissions later would be a
 * race.
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
 * Removes the socket of a process that has died.
 * @throws {Error} When another process listens at the path, or it is another type of file.
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
    throw new Error("the path exists and is not a socket");
  }
  if (await accepts(path)) throw new Error("another process is listening");
  await removeIfThere(path);
}

async function accepts(path: string): Promise<boolean> {
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
