/** What a shell reports for a process that a signal ended: 128 and its number. */
export const signalExitCodes = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** Calls `listener` at each `signal` until it is disposed. Of those that we listen to, Windows has only SIGINT; the others never come there. */
export function onSignal(
  signal: Deno.Signal,
  listener: () => void,
): Disposable {
  const exists = Deno.build.os !== "windows" || signal === "SIGINT";
  if (exists) Deno.addSignalListener(signal, listener);
  return {
    [Symbol.dispose]() {
      if (exists) Deno.removeSignalListener(signal, listener);
    },
  };
}
