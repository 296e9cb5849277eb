import type { Server } from "node:net";

/** As Node's own default; it is only heeded by a socket that does not listen yet. */
const BACKLOG = 511;

/**
 * Makes a server of Node's look for waiting connections again.
 *
 * Deno stops looking, and says nothing, once an accept failed for want of file descriptors; to be told to listen again makes it
 * look, and changes nothing for a socket that listens. Without it a port would stay dead when the descriptors are free again.
 */
export function lookForConnections(server: Server): void {
  const handle: unknown = Reflect.get(server, "_handle");
  if (typeof handle !== "object" || handle === null) return;
  const listen: unknown = Reflect.get(handle, "listen");
  if (typeof listen === "function") Reflect.apply(listen, handle, [BACKLOG]);
}

/** Why a connection could not be accepted now, as far as that can be told; `undefined` when there is a file descriptor for it. */
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
