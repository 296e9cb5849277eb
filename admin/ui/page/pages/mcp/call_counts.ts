/** Calls of tools since the start of the gateway, from its metrics. */
import type { Sample } from "../../server/metrics_text.ts";

const CALLS = "gateway_mcp_calls_total";
const DURATION = "gateway_mcp_call_duration_seconds";

/** Path of the metrics. */
export const CALL_METRICS = `metrics?name=${CALLS}&name=${DURATION}`;

/** Figures of a server, or of one of its tools. */
export interface CallCounts {
  readonly calls: number;
  /** Results with `isError`, and failures of the server or the protocol. */
  readonly errors: number;
}

/** Selects the samples of a server, or of one of its tools. */
export interface CallSelection {
  /** Key of the backend, such as `default/mcp`. */
  readonly backend: string;
  readonly server: string;
  /** Name that clients use. */
  readonly tool?: string;
}

/** Counts the calls of a server or a tool. */
export function countCalls(
  samples: readonly Sample[],
  selection: CallSelection,
): CallCounts {
  let calls = 0;
  let errors = 0;
  for (const { name, labels, value } of samples) {
    if (name !== CALLS) continue;
    if (!isSelected(labels, selection)) continue;
    calls += value;
    if (labels["result"] !== "ok") errors += value;
  }
  return { calls, errors };
}

/** Returns a quantile of the time of the calls of a server, in milliseconds; `undefined` without calls. */
export function callTime(
  samples: readonly Sample[],
  selection: CallSelection,
  share: number,
): number | undefined {
  const buckets = samples.filter(({ name, labels }) =>
    name === `${DURATION}_bucket` &&
    isSelected(labels, selection)
  ).map(({ labels, value }) => ({
    bound: labels["le"] === "+Inf" ? Infinity : Number(labels["le"]),
    count: value,
  })).sort((a, b) => a.bound - b.bound);
  const wanted = share * (buckets.at(-1)?.count ?? 0);
  if (wanted === 0) return undefined;
  const at = buckets.findIndex(({ count }) => count >= wanted);
  const before = buckets[at - 1] ?? { bound: 0, count: 0 };
  const bucket = buckets[at];
  if (bucket === undefined) return undefined;
  if (bucket.bound === Infinity) return before.bound * 1000;
  const part = (wanted - before.count) / (bucket.count - before.count);
  return 1000 * (before.bound + part * (bucket.bound - before.bound));
}

function isSelected(
  labels: Sample["labels"],
  { backend, server, tool }: CallSelection,
): boolean {
  return labels["backend"] === backend.replace(/^[^/]*\//, "") &&
    labels["server"] === server &&
    (tool === undefined || labels["tool"] === tool);
}
