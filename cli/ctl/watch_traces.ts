import { describeReadError } from "../../src/base/regular_file.ts";
import { isInCluster } from "../cluster/for_proxies.ts";
import { watchReplicas } from "../cluster/trace_replicas.ts";
import { Failure } from "../process/exit.ts";
import { printError } from "../output/output.ts";
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
} from "./trace/trace_options.ts";
import { type Show, showFor } from "./trace/show.ts";
import { chooseSourcePort, filterFor } from "./trace/source_ports.ts";
import { openTrace } from "./trace/stream.ts";

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
  let message = "";
  // Without parts of the URL that may be secret.
  const { origin, pathname } = new URL(url);
  // A user who quits does not wait for the response.
  using ending = new DisposableStack();
  const abort = new AbortController();
  ending.defer(() => abort.abort());
  const exitCode = await show({
    title: origin + pathname,
    waitingText: "request sent, waiting for its trace…",
    events: followInjection(
      trace.events,
      () => send(abort.signal),
      (text) => message = text,
    ),
  });
  await printError(message);
  return exitCode;
}
