const signals = [["SIGINT", 130], ["SIGTERM", 143]] as const;

/** Whether somebody wants this process to end. */
export interface Shutdown {
  /** Resolves once it should. */
  readonly requested: Promise<void>;
  request(): void;
  /** Stops listening to signals. */
  [Symbol.dispose](): void;
}

/** Takes SIGINT and SIGTERM as requests; `onSecond` receives the exit code when another one follows. */
export function listenForShutdown(
  onSecond: (exitCode: number) => void,
): Shutdown {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isRequested = false;
  const listeners = signals.map(([signal, exitCode]) => {
    const listener = () => {
      if (isRequested) onSecond(exitCode);
      isRequested = true;
      resolve();
    };
    addListener(signal, listener);
    return [signal, listener] as const;
  });
  return {
    requested: promise,
    request() {
      isRequested = true;
      resolve();
    },
    [Symbol.dispose]() {
      for (const [signal, listener] of listeners) {
        removeListener(signal, listener);
      }
    },
  };
}

// Windows knows no SIGTERM.
function addListener(signal: Deno.Signal, listener: () => void): void {
  if (signal !== "SIGTERM" || Deno.build.os !== "windows") {
    Deno.addSignalListener(signal, listener);
  }
}

function removeListener(signal: Deno.Signal, listener: () => void): void {
  if (signal !== "SIGTERM" || Deno.build.os !== "windows") {
    Deno.removeSignalListener(signal, listener);
  }
}
