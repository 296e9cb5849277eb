import { systemClock } from "../../src/base/clock.ts";
import { printError } from "../output/output.ts";
import { canDraw } from "../output/terminal.ts";

const DRAW_MS = 200;
const BAR_WIDTH = 30;

/** Shows a progress bar for a duration if standard error is a terminal; disposing it removes the bar. */
export function showProgress(seconds: number): AsyncDisposable {
  if (!Deno.stderr.isTerminal() || !canDraw()) {
    return { [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const startedAt = systemClock.monotonic();
  let drawn = Promise.resolve();
  let cancelTimer = () => {};
  const draw = () => {
    const elapsed = (systemClock.monotonic() - startedAt) / 1000;
    drawn = drawn.then(() => printError(`\r${barOf(elapsed, seconds)}`));
    cancelTimer = systemClock.setTimer(draw, DRAW_MS);
  };
  draw();
  return {
    async [Symbol.asyncDispose]() {
      cancelTimer();
      await drawn;
      await printError("\r\x1b[K");
    },
  };
}

/** Formats `[###...........................] 27 s left `. */
function barOf(elapsed: number, seconds: number): string {
  const part = Math.min(1, elapsed / seconds);
  const bar = "#".repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH, ".");
  const left = Math.max(0, Math.ceil(seconds - elapsed));
  return `[${bar}] ${left} s left `;
}
