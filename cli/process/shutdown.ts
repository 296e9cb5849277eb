import { onSignal, signalExitCodes } from "./signals.ts";

/** Whether somebody wants this process to end; disposing it stops listening to signals. */
export interface Shutdown extends Disposable {
  /** Resolves once it should. */
  readonly requested: Promise<void>;
  request(): void;
}

/** Takes SIGINT and SIGTERM as requests; `onSecond` receives the exit code when another one follows. */
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
