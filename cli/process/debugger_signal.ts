import type { Clock } from "../../src/base/clock.ts";
import { onSignal } from "./signals.ts";

/** The debugger of this process, as `node:inspector` has it. */
export interface Debugger {
  /** Where it listens; `undefined` while it is shut. */
  url(): string | undefined;
  close(): void;
}

const LOOK_EVERY_MS = 10;
/** Deno opens it a moment after the signal, on a busy machine a long one. */
const LOOKS = 1000;

/**
 * Shuts the debugger that Deno opens at SIGUSR1, on a port where everybody on this machine can run code in the process; nothing keeps Deno
 * from opening it.
 */
export function keepDebuggerShut(
  clock: Clock,
  onIgnored: () => void,
): Disposable {
  let stopLooking = () => {};
  const listening = onSignal("SIGUSR1", async () => {
    onIgnored();
    const target = await import("node:inspector");
    stopLooking();
    stopLooking = closeWhenOpen(target, clock);
  });
  return {
    [Symbol.dispose]() {
      listening[Symbol.dispose]();
      stopLooking();
    },
  };
}

/**
 * Closes the debugger whenever it is open, for ten seconds; answers what ends the looking. Of several signals at once, Deno may heed one
 * after we have closed what another opened.
 */
export function closeWhenOpen(target: Debugger, clock: Clock): () => void {
  let left = LOOKS;
  let cancel = () => {};
  function look(): void {
    if (target.url() !== undefined) target.close();
    if (--left > 0) cancel = clock.setTimer(look, LOOK_EVERY_MS);
  }
  look();
  return () => cancel();
}
