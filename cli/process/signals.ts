/** Exit codes for signals: 128 plus the signal's number. */
export const signalExitCodes = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** Calls `listener` for each `signal` until it is disposed. On Windows, only SIGINT exists; other signals are ignored. */
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
