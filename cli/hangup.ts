/** The SIGHUPs that this process gets. Windows has none. */
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
  const onSignal = () => notify();
  const isKnown = Deno.build.os !== "windows";
  if (isKnown) Deno.addSignalListener("SIGHUP", onSignal);
  return {
    follow(listener) {
      notify = listener;
      if (isPending) listener();
    },
    [Symbol.dispose]() {
      if (isKnown) Deno.removeSignalListener("SIGHUP", onSignal);
    },
  };
}
