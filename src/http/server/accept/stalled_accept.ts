import type { Server } from "node:net";

/** Node's default; it has no effect on a socket that already listens. */
const BACKLOG = 511;

/**
 * Makes a Node server accept connections again.
 *
 * After an accept failed without free file descriptors, Deno silently stops accepting. A second call of `listen` resumes it, and has
 * no other effect on a socket that already listens. Without it, the port would stay dead after descriptors are free again.
 */
export function lookForConnections(server: Server): void {
  const handle: unknown = Reflect.get(server, "_handle");
  if (typeof handle !== "object" || handle === null) return;
  const listen: unknown = Reflect.get(handle, "listen");
  if (typeof listen === "function") Reflect.apply(listen, handle, [BACKLOG]);
}

/** Returns why a connection cannot be accepted now; `undefined` if a file descriptor is free. */
export function findWhyNotAccepting(): unknown {
  try {
    Deno.openSync(Deno.execPath()).close();
  } catch (error) {
    if (isOutOfDescriptors(error)) return error;
  }
  return undefined;
}

function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    (error.code === "EMFILE" || error.code === "ENFILE");
}
