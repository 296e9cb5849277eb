import type { Socket } from "node:net";

/**
 * Resolves when the TLS handshake of `socket`, which is connecting, is done.
 * @throws The socket's error, or the signal's reason; the socket is destroyed then.
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
  // Stays: a socket may fail more than once, and nobody else listens between its opening and its use.
  socket.on("error", fail);
  socket.once("secureConnect", () => resolve());
  return promise.finally(() => {
    signal.removeEventListener("abort", onAbort);
    socket.off("close", onClose);
  });
}
