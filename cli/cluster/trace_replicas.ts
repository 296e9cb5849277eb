import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import type { Show } from "../tui/show.ts";
import { mergeLanes, openLanes } from "../ctl/trace/lanes.ts";
import {
  hasMany,
  type InjectPlan,
  queryOf,
  type TraceOptions,
  type WatchPlan,
} from "../ctl/trace/trace_options.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { withPods } from "./for_proxies.ts";

/** Traces requests to a gateway in a cluster: follows all its proxies, and stays with the first that sees one. */
export async function watchReplicas(
  options: TraceOptions,
  plan: WatchPlan | InjectPlan,
  show: Show,
): Promise<number> {
  const { gateway } = plan;
  if (plan.kind === "inject") {
    throw new UsageError(
      "Cannot send requests to a gateway in a cluster: trace without a URL, and send the request yourself",
    );
  }
  return await withPods(options, gateway ?? "", async (pods) => {
    using streams = new DisposableStack();
    const addresses = pods.map(({ address }) => address);
    // The proxies serve only this gateway.
    const query = queryOf({ ...plan, gateway: undefined });
    const traces = await openLanes(addresses, query, streams);
    return await show({
      title: `gateway/${gateway}`,
      waitingText: `waiting for a request at ${pods.length} proxies…`,
      events: plan.follow ? mergeLanes(traces) : firstOf(traces),
      hasMany: hasMany(plan),
    });
  });
}

/** Yields the events of the stream that has the first one. */
async function* firstOf(
  traces: readonly AsyncIterable<ReceivedEvent>[],
): AsyncGenerator<ReceivedEvent> {
  const iterators = traces.map((events) => events[Symbol.asyncIterator]());
  const starts = iterators.map(async (iterator) => {
    const first = await iterator.next();
    if (first.done === true) throw new Failure("The trace ended");
    return { iterator, event: first.value };
  });
  const { iterator, event } = await Promise.any(starts);
  // The others end with errors when their streams are disposed.
  void Promise.allSettled(starts);
  yield event;
  for (
    let next = await iterator.next();
    next.done !== true;
    next = await iterator.next()
  ) yield next.value;
}
