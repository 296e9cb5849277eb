import assert from "node:assert/strict";
import { followInjection } from "../../../../../cli/ctl/trace/follow_injection.ts";
import { openTrace } from "../../../../../cli/ctl/trace/stream.ts";
import { Failure } from "../../../../../cli/process/exit.ts";
import { FakeClock } from "../../../../harness/time/fake_clock.ts";
import { received } from "../../../../harness/clients/received_events.ts";
import { refusedTrace } from "../../../../harness/telemetry/sample_trace.ts";
import { TraceServer } from "../../../../harness/servers/trace_server.ts";

Deno.test("openTrace reports a gateway that sends no more data", async () => {
  await using server = new TraceServer();
  const clock = new FakeClock();
  using trace = await openTrace({ admin: server.address }, {}, clock);
  const scripted = await server.nextStream();
  const events = trace.events[Symbol.asyncIterator]();
  scripted.send(...refusedTrace.slice(0, 1));
  await events.next();

  const next = assert.rejects(events.next(), {
    name: "Failure",
    message: /Lost the trace: no data for 10 s/,
  });
  // The stream is read to its end before the time-out starts.
  await untilPending(clock);
  clock.advance(10_000);

  await next;
  scripted.end();
});

async function untilPending(clock: FakeClock): Promise<void> {
  while (clock.pending === 0) await new Promise((go) => setTimeout(go, 0));
}

Deno.test("openTrace expects the requested number of requests", async () => {
  await using server = new TraceServer();
  using trace = await openTrace({ admin: server.address }, { count: 2 });
  const scripted = await server.nextStream();

  scripted.send(...refusedTrace);
  scripted.end();

  await assert.rejects(Array.fromAsync(trace.events), /Lost the trace/);
});

Deno.test("followInjection yields the trace, then throws the failure of the request", async () => {
  const failure = new Failure("Cannot send the request: curl exited with 22");
  const events = received(refusedTrace);
  const seen: unknown[] = [];

  await assert.rejects(async () => {
    const send = () => Promise.reject(failure);
    for await (
      const event of followInjection(
        ReadableStream.from(events),
        send,
        () => {},
      )
    ) seen.push(event);
  }, failure);

  assert.deepEqual(seen, events);
});
