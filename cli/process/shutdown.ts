import { onSignal, signalExitCodes } from "./signals.ts";

/** A shutdown request; disposing it stops listening to signals. */
export interface Shutdown extends Disposable {
  /** Resolves when the shutdown is requested. */
  readonly requested: Promise<void>;
  request(): void;
}

/** Handles SIGINT and SIGTERM as requests; calls `onSecond` with the exit code when another signal follows. */
export function listenForShutdown(
  onSecond: (exitCode: number) => void,
): Shutdown {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isRequested = false;
  const listening = new DisposableStack();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    listening.use(onSignal(signal, () => {
      if (isRequested) onSecond(signalExitCodes[signal]);
      isRequested = true;
      resolve();
    }));
  }
  return {
    requested: promise,
    request() {
      isRequested = true;
      resolve();
    },
    [Symbol.dispose]: () => listening.dispose(),
  };
}
