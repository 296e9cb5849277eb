import { describeReadError } from "../../src/base/regular_file.ts";
import { isInCluster } from "./for_proxies.ts";
import { watchReplicas } from "./trace_replicas.ts";
import { Failure } from "../process/exit.ts";
import { printError } from "../output/output.ts";
import { decodeEvent, type ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { followInjection } from "../ctl/trace/follow_injection.ts";
import { mergeLanes, openLanes } from "../ctl/trace/lanes.ts";
import { prepareInjection } from "../ctl/trace/inject.ts";
import { readLines } from "../ctl/trace/lines.ts";
import {
  choosePort,
  listListeners,
  selectListeners,
} from "../ctl/trace/listener.ts";
import {
  explainPort,
  hasMany,
  type InjectPlan,
  planTrace,
  queryOf,
  type TraceOptions,
  type WatchPlan,
} from "../ctl/trace/trace_options.ts";
import { type Show, showFor } from "../tui/show.ts";
import { chooseSourcePort, filterFor } from "../ctl/trace/source_ports.ts";
import { openTrace } from "../ctl/trace/stream.ts";

/**
 * Shows the trace of requests; returns the exit code.
 * @param words Arguments before `--`.
 * @param request Arguments after `--`: a URL and arguments for curl; `undefined` without `--`.
 */
export async function traceRequests(
  options: TraceOptions,
  words: readonly string[],
  request: readonly string[] | undefined,
): Promise<number> {
  const plan = planTrace(options, words, request);
  const show = showFor(options);
  const { adminPort, ...target } = options;
  const address = adminPort === undefined ? {} : { port: adminPort };
  const isRemote = plan.kind !== "replay" &&
    await isInCluster({ ...withoutPort(target), ...address }, plan.gateway);
  if (isRemote) return await watchReplicas(options, plan, show);
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

/** Requests that `--follow` traces at the same time: a stream of the gateway has one after the other. */
const FOLLOWED_REQUESTS = 8;

/** The port of a trace is that of a listener. */
function withoutPort({ port: _, ...options }: TraceOptions) {
  return options;
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
      `Cannot read "${file}"${place}: ${describeReadError(error)}`,
    );
  }
}

async function watch(plan: WatchPlan, show: Show): Promise<number> {
  const { address, gateway, port } = plan;
  if (gateway !== undefined || port !== undefined) {
    selectListeners(await listListeners(address), gateway, port);
  }
  using streams = new DisposableStack();
  const lanes = plan.follow ? FOLLOWED_REQUESTS : 1;
  const addresses = Array.from({ length: lanes }, () => address);
  return await show({
    title: gateway === undefined ? "the gateway" : `gateway/${gateway}`,
    waitingText: "waiting for a request…",
    events: mergeLanes(await openLanes(addresses, queryOf(plan), streams)),
    hasMany: hasMany(plan),
  });
}

async function inject(plan: InjectPlan, show: Show): Promise<number> {
  const { address, gateway, url, curlArgs } = plan;
  const listeners = await listListeners(address);
  const candidates = selectListeners(listeners, gateway, plan.port);
  const port = choosePort(candidates, url);
  let message = "";
  // A user who quits does not wait for the response.
  using ending = new DisposableStack();
  const abort = new AbortController();
  ending.defer(() => abort.abort());
  const start = async () => {
    const firstSourcePort = chooseSourcePort(Math.random());
    const request = { url, curlArgs, port, firstSourcePort };
    const send = await prepareInjection(request);
    const filter = filterFor(firstSourcePort);
    const trace = ending.use(await openTrace(address, { filter }));
    return followInjection(
      trace.events,
      () => send(abort.signal),
      (text) => message = text,
    );
  };
  // Without parts of the URL that may be secret.
  const { origin, pathname } = new URL(url);
  let lane = 0;
  const exitCode = await show({
    title: origin + pathname,
    waitingText: "request sent, waiting for its trace…",
    events: await start(),
    repeat: async function* () {
      const own = ++lane;
      for await (const event of await start()) yield { ...event, lane: own };
    },
  });
  await printError(message);
  return exitCode;
}
