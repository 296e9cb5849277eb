import { exitCodes } from "../process/exit.ts";
import { print } from "../output/output.ts";
import { signalExitCodes } from "../process/signals.ts";
import { canDraw } from "../output/terminal.ts";
import type { TraceFeed } from "./run_tui.ts";
import type { KeyInput } from "./screen.ts";
import { inTurn } from "../ctl/trace/lanes.ts";
import type { TraceOptions } from "../ctl/trace/trace_options.ts";
import { textLine } from "../ctl/trace/text.ts";

/** Shows events; returns the exit code. */
export type Show = (feed: TraceFeed) => Promise<number>;

/** Selects the presentation: JSON Lines, the terminal UI, or plain lines without a suitable terminal. */
export function showFor({ raw, file }: TraceOptions): Show {
  if (raw === true) return printRaw;
  const keys = Deno.stdout.isTerminal() && canDraw()
    ? openKeys(file === "-")
    : undefined;
  return keys === undefined ? printText : (feed) => showTui(feed, keys);
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

/** Prints JSON Lines. */
async function printRaw({ events }: TraceFeed): Promise<number> {
  for await (const { line } of inTurn(events)) await print(`${line}\n`);
  return exitCodes.ok;
}

/** Prints lines of text, with an empty line between requests. */
async function printText({ events }: TraceFeed): Promise<number> {
  let isFirst = true;
  for await (const event of inTurn(events)) {
    const isNext = event.type === "requestStarted" && !isFirst;
    await print(`${isNext ? "\n" : ""}${textLine(event)}\n`);
    isFirst = false;
  }
  return exitCodes.ok;
}

async function showTui(feed: TraceFeed, keys: KeyInput): Promise<number> {
  const { runTui } = await import("./run_tui.ts");
  const { failure, signal, sawNothing } = await runTui(feed, keys);
  if (signal !== undefined) return signalExitCodes[signal];
  if (failure !== undefined) throw failure;
  return sawNothing ? exitCodes.failure : exitCodes.ok;
}
