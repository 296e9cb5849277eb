import type { Socket } from "node:net";

/**
 * Resolves when the TLS handshake of a connecting socket is complete.
 * @throws The socket's error or the signal's reason, after destroying the socket.
 */
export function openSocket(
  socket: Socket,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: unknown) => {
    socket.destroy();
    reject(error);
  };
  const onAbort = () => fail(signal.reason);
  const onClose = () => fail(new Error("The connection was closed"));
  signal.addEventListener("abort", onAbort);
  socket.once("close", onClose);
  // Kept: a socket may fail more than once, and has no other listener until it is used.
  socket.on("error", fail);
  socket.once("secureConnect", () => resolve());
  return promise.finally(() => {
    signal.removeEventListener("abort", onAbort);
    socket.off("close", onClose);
  });
}
