import { exitCodes } from "./exit.ts";
import { onSignal, signalExitCodes } from "./signals.ts";

/** A shutdown request; disposing it stops listening to signals. */
export interface Shutdown extends Disposable {
  /** Resolves with the exit code when the shutdown is requested. */
  readonly requested: Promise<number>;
  /** @param exitCode 0 by default. */
  request(exitCode?: number): void;
}

/** Handles SIGINT and SIGTERM as requests; calls `onSecond` with the exit code when another signal follows. */
export function listenForShutdown(
  onSecond: (exitCode: number) => void,
): Shutdown {
  const { promise, resolve } = Promise.withResolvers<number>();
  let isRequested = false;
  const listening = new DisposableStack();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    listening.use(onSignal(signal, () => {
      if (isRequested) onSecond(signalExitCodes[signal]);
      isRequested = true;
      resolve(exitCodes.ok);
    }));
  }
  return {
    requested: promise,
    request(exitCode = exitCodes.ok) {
      isRequested = true;
      resolve(exitCode);
    },
    [Symbol.dispose]: () => listening.dispose(),
  };
}
