/** Shows an event that cannot be drawn: what the terminal looks like after a bug. */
import { runTui } from "../../cli/tui/run.ts";
import { decodeEvent } from "../../cli/ctl/trace/decode_event.ts";

async function* events() {
  const event = decodeEvent(
    '{"eventEnd": 1, "severity": "info", "message": {"type": "requestStarted"}}',
  );
  if (event === undefined) return;
  await Promise.resolve();
  yield {
    ...event,
    get message(): never {
      throw new Error("a bug in the view");
    },
  };
}

await runTui(
  { title: "a bug", waitingText: "waiting", events: events() },
  Deno.stdin,
);
