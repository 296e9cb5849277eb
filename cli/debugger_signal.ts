/**
 * Takes SIGUSR1, at which Deno would else open a port where everybody on this machine can run code in the process. Windows has no
 * such signal.
 */
export function keepDebuggerShut(onSignal: () => void): Disposable {
  const isKnown = Deno.build.os !== "windows";
  if (isKnown) Deno.addSignalListener("SIGUSR1", onSignal);
  return {
    [Symbol.dispose]() {
      if (isKnown) Deno.removeSignalListener("SIGUSR1", onSignal);
    },
  };
}
