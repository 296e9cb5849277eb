import { exitCodes } from "../../process/exit.ts";
import { print } from "../../output/output.ts";
import { signalExitCodes } from "../../process/signals.ts";
import { canDraw } from "../../output/terminal.ts";
import type { TraceFeed } from "../../tui/run_tui.ts";
import type { KeyInput } from "../../tui/screen.ts";
import type { ReceivedEvent } from "./decode_event.ts";
import type { TraceOptions } from "./trace_options.ts";
import { textLine } from "./text.ts";

/** Shows events; returns the exit code. */
export type Show = (feed: TraceFeed) => Promise<number>;

/** Selects the presentation: JSON Lines, the terminal UI, or plain lines without a suitable terminal. */
export function showFor({ raw, file }: TraceOptions): Show {
  if (raw === true) {
    return (feed) => printLines(feed, ({ line }) => line);
  }
  const keys = Deno.stdout.isTerminal() && canDraw()
    ? openKeys(file === "-")
    : undefined;
  return keys === undefined
    ? (feed) => printLines(feed, textLine)
    : (feed) => showTui(feed, keys);
}

/** Opens the terminal for keys; returns `undefined` when there is none or it may not be opened. */
function openKeys(isInputTaken: boolean): KeyInput | undefined {
  if (!isInputTaken) return Deno.stdin.isTerminal() ? Deno.stdin : undefined;
  try {
    return Deno.openSync("/dev/tty", { read: true });
  } catch {
    // Falls back to plain lines, which need no keys.
    return undefined;
  }
}

async function printLines(
  { events }: TraceFeed,
  format: (event: ReceivedEvent) => string,
): Promise<number> {
  for await (const event of events) await print(`${format(event)}\n`);
  return exitCodes.ok;
}

async function showTui(feed: TraceFeed, keys: KeyInput): Promise<number> {
  const { runTui } = await import("../../tui/run_tui.ts");
  const { failure, signal, sawNothing } = await runTui(feed, keys);
  if (signal !== undefined) return signalExitCodes[signal];
  if (failure !== undefined) throw failure;
  return sawNothing ? exitCodes.failure : exitCodes.ok;
}
