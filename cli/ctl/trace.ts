import { describeReadProblem } from "../../src/base/read_problem.ts";
import { exitCodes, Failure } from "../exit.ts";
import { print, printError } from "../output.ts";
import { signalExitCodes } from "../signals.ts";
import { decodeEvent, type ReceivedEvent } from "./trace/decode_event.ts";
import { followInjection } from "./trace/follow_injection.ts";
import { prepareInjection } from "./trace/inject.ts";
import { readLines } from "./trace/lines.ts";
import {
  choosePort,
  listListeners,
  selectListeners,
} from "./trace/listener.ts";
import {
  explainPort,
  type InjectPlan,
  planTrace,
  type TraceOptions,
  type WatchPlan,
} from "./trace/options.ts";
import { chooseSourcePort, filterFor } from "./trace/source_ports.ts";
import type { KeyInput } from "../tui/screen.ts";
import { openTrace } from "./trace/stream.ts";
import { textLine } from "./trace/text.ts";

/** Shows a feed to the user; answers the exit code. */
type Show = (feed: Feed) => Promise<number>;

interface Feed {
  readonly title: string;
  readonly waitingText: string;
  readonly events: AsyncIterable<ReceivedEvent>;
}

/**
 * Shows the trace of requests; answers the exit code.
 * @param words Before `--`.
 * @param request After `--`: a URL and arguments of curl; `undefined` without `--`.
 */
export async function traceRequests(
  options: TraceOptions,
  words: readonly string[],
  request: readonly string[] | undefined,
): Promise<number> {
  const plan = planTrace(options, words, request);
  const show = showFor(options);
  try {
    switch (plan.kind) {
      case "replay":
        return await replay(plan.file, show);
      case "watch":
        return await watch(plan, show);
      case "inject":
        return await inject(plan, show);
    }
  } catch (error) {
    throw explainPort(error, options);
  }
}

/** JSON Lines, a terminal UI, or plain lines where there is no terminal for it. */
function showFor({ raw, file }: TraceOptions): Show {
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

/** A terminal that says nothing of itself, or that it can do nothing, gets lines. */
function canDraw(): boolean {
  if (Deno.build.os === "windows") return true;
  const name = Deno.env.get("TERM") ?? "";
  return name !== "" && name !== "dumb";
}

/** Where keys are read from; `undefined` when there is no such terminal, or this program may not open it. */
function openKeys(isInputTaken: boolean): KeyInput | undefined {
  if (!isInputTaken) return Deno.stdin.isTerminal() ? Deno.stdin : undefined;
  try {
    return Deno.openSync("/dev/tty", { read: true });
  } catch {
    // Lines of text then, which need no keys.
    return undefined;
  }
}

async function printLines(
  { events }: Feed,
  format: (event: ReceivedEvent) => string,
): Promise<number> {
  for await (const event of events) await print(`${format(event)}\n`);
  return exitCodes.ok;
}

async function showTui(feed: Feed, keys: KeyInput): Promise<number> {
  const { runTui } = await import("../tui/run.ts");
  const { failure, signal } = await runTui(feed, keys);
  if (signal !== undefined) return signalExitCodes[signal];
  if (failure !== undefined) throw failure;
  return exitCodes.ok;
}

async function replay(file: string, show: Show): Promise<number> {
  return await show({
    title: file === "-" ? "standard input" : file,
    waitingText: "reading…",
    events: readFile(file),
  });
}

async function* readFile(file: string): AsyncGenerator<ReceivedEvent> {
  let number = 0;
  try {
    const input = file === "-" ? Deno.stdin : await Deno.open(file);
    for await (const line of readLines(input.readable)) {
      number++;
      const event = decodeEvent(line);
      if (event !== undefined) yield event;
    }
  } catch (error) {
    const place = number === 0 ? "" : ` at line ${number}`;
    throw new Failure(
      `Cannot read "${file}"${place}: ${describeReadProblem(error)}`,
    );
  }
}

async function watch(plan: WatchPlan, show: Show): Promise<number> {
  const { address, gateway, port, filter, count } = plan;
  if (gateway !== undefined || port !== undefined) {
    selectListeners(await listListeners(address), gateway, port);
  }
  using trace = await openTrace(address, {
    ...(filter !== undefined && { filter }),
    ...(count !== undefined && { count }),
    ...(gateway !== undefined && { gateway }),
    ...(port !== undefined && { port }),
  });
  return await show({
    title: gateway === undefined ? "the gateway" : `gateway/${gateway}`,
    waitingText: "waiting for a request…",
    events: trace.events,
  });
}

async function inject(plan: InjectPlan, show: Show): Promise<number> {
  const { address, gateway, url, curlArgs } = plan;
  const listeners = await listListeners(address);
  const candidates = selectListeners(listeners, gateway, plan.port);
  const port = choosePort(candidates, url);
  const firstSourcePort = chooseSourcePort(Math.random());
  const send = await prepareInjection({ url, curlArgs, port, firstSourcePort });
  using trace = await openTrace(address, {
    filter: filterFor(firstSourcePort),
  });
  let said = "";
  // Without what may be secret in a URL.
  const { origin, pathname } = new URL(url);
  // A reader who leaves does not wait for the answer.
  using ending = new DisposableStack();
  const abort = new AbortController();
  ending.defer(() => abort.abort());
  const exitCode = await show({
    title: origin + pathname,
    waitingText: "request sent, waiting for its trace…",
    events: followInjection(
      trace.events,
      () => send(abort.signal),
      (text) => said = text,
    ),
  });
  await printError(said);
  return exitCode;
}
