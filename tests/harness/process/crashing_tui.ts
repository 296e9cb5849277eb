/** A terminal UI that throws in the place that the first argument names. */
import { runTui } from "../../../cli/tui/run_tui.ts";
import { received } from "../clients/received_events.ts";
import { refusedTrace } from "../telemetry/sample_trace.ts";

const bugs: Readonly<Record<string, () => unknown>> = {
  "when it draws": () => {
    throw new Error("a bug when it draws");
  },
  "in a promise": () => {
    void Promise.reject(new Error("a bug in a promise"));
    return undefined;
  },
  "in a timer": () => {
    setTimeout(() => {
      throw new Error("a bug in a timer");
    }, 0);
    return undefined;
  },
};

const crash = bugs[Deno.args[0] ?? ""];
const [event] = received(refusedTrace);
if (crash === undefined || event === undefined) {
  throw new Error("Expected the name of a bug");
}
// The view reads it.
const broken = Object.defineProperty({ ...event }, "message", { get: crash });

await runTui(
  {
    title: "a bug",
    waitingText: "waiting",
    events: ReadableStream.from([broken]),
  },
  Deno.stdin,
);
