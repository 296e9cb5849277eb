import { onSignal } from "./signals.ts";

/** SIGHUP signals of this process. */
export interface Hangups extends Disposable {
  /** Calls `listener` for each signal; immediately if there was one before. */
  follow(listener: () => void): void;
}

/** Handles SIGHUP, which would otherwise end the process. */
export function listenForHangups(): Hangups {
  let isPending = false;
  let notify = () => {
    isPending = true;
  };
  const listening = onSignal("SIGHUP", () => notify());
  return {
    follow(listener) {
      notify = listener;
      if (isPending) listener();
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
