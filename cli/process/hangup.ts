import { onSignal } from "./signals.ts";

/** The SIGHUPs that this process gets. */
export interface Hangups extends Disposable {
  /** Calls `listener` at each; at once when there were some before. */
  follow(listener: () => void): void;
}

/** Takes SIGHUP, which would else end the process. */
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
