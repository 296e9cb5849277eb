import type { Clock } from "../../src/base/clock.ts";
import { onSignal } from "./signals.ts";

/** The debugger of this process (`node:inspector`). */
export interface Debugger {
  /** Listen address; `undefined` while it is closed. */
  url(): string | undefined;
  close(): void;
}

const POLL_MS = 10;
/** Deno opens the debugger with a delay after the signal, which is long on a busy machine. */
const MAX_POLLS = 1000;

/**
 * Closes the debugger that Deno opens on SIGUSR1, on a port where every local user could run code in the process. Deno has no
 * option to disable it.
 */
export function keepDebuggerClosed(
  clock: Clock,
  onIgnored: () => void,
): Disposable {
  let stopPolling = () => {};
  const listening = onSignal("SIGUSR1", async () => {
    onIgnored();
    const target = await import("node:inspector");
    stopPolling();
    stopPolling = closeWhenOpen(target, clock);
  });
  return {
    [Symbol.dispose]() {
      listening[Symbol.dispose]();
      stopPolling();
    },
  };
}

/**
 * Polls for ten seconds and closes the debugger whenever it is open: of several signals, Deno may handle one after the debugger
 * was closed. Returns a function that stops polling.
 */
export function closeWhenOpen(target: Debugger, clock: Clock): () => void {
  let left = MAX_POLLS;
  let cancel = () => {};
  function poll(): void {
    if (target.url() !== undefined) target.close();
    if (--left > 0) cancel = clock.setTimer(poll, POLL_MS);
  }
  poll();
  return () => cancel();
}
