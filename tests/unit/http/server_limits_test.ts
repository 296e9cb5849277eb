import assert from "node:assert/strict";
import type { GatewayError } from "../../../src/base/errors.ts";
import {
  defaultLimits,
  requestPace,
  responsePace,
  type ServerLimits,
} from "../../../src/http/server/contract/server_options.ts";
import { TunnelLimits } from "../../../src/http/server/contract/tunnel_limits.ts";
import { TimerWheel } from "../../../src/http/timer_wheel.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

function contextWith(clock: FakeClock, limits: Partial<ServerLimits>) {
  return {
    clock,
    limits: { ...defaultLimits, ...limits },
    wheel: new TimerWheel(clock),
  };
}

const limits = { bodyIdleTimeoutMs: 10_000, minBodyBytesPerSecond: 100 };

Deno.test("TransferPace ends a body that trickles, however fast it began", () => {
  const clock = new FakeClock();
  const pace = requestPace(contextWith(clock, limits));
  pace.wait();
  pace.moved(50_000_000);
  let waits = 0;

  for (; pace.wait() > clock.monotonic() + 1000; waits++) {
    clock.advance(1000);
    pace.moved(1);
  }

  assert.equal(waits, 10);
  assert.match(pace.problem, /slower than 100 bytes per second$/);
});

Deno.test("TransferPace ends a response of which a client takes little at a time", () => {
  const clock = new FakeClock();
  const pace = responsePace(contextWith(clock, {
    writeTimeoutMs: 10_000,
    minResponseBytesPerSecond: 100,
  }));
  let waits = 0;

  for (; pace.wait() > clock.monotonic() + 2000; waits++) {
    clock.advance(2000);
    pace.moved(100);
  }

  assert.equal(waits, 8);
  assert.equal(pace.problem, "slower than 100 bytes per second");
});

Deno.test("TransferPace lets a body at the minimum rate go on", () => {
  const clock = new FakeClock();
  const pace = requestPace(contextWith(clock, limits));

  for (let second = 0; second < 1000; second++) {
    assert.equal(pace.wait(), clock.monotonic() + 10_000);
    clock.advance(1000);
    pace.moved(100);
  }
});

Deno.test("TransferPace counts only the time in which the gateway waits for the client", () => {
  const clock = new FakeClock();
  const pace = requestPace(contextWith(clock, limits));

  for (let read = 0; read < 1000; read++) {
    pace.wait();
    pace.moved(1);
    clock.advance(9000);
  }

  assert.equal(pace.wait(), clock.monotonic() + 10_000);
  assert.match(pace.problem, /no data in time$/);
});

Deno.test("TransferPace without a rate has a time limit for each wait", () => {
  const clock = new FakeClock();
  for (
    const pace of [
      requestPace(contextWith(clock, limits), false),
      requestPace(contextWith(clock, { ...limits, minBodyBytesPerSecond: 0 })),
    ]
  ) {
    for (let read = 0; read < 100; read++) {
      assert.equal(pace.wait(), clock.monotonic() + 10_000);
      clock.advance(9000);
      pace.moved(1);
    }
  }
});

Deno.test("TransferPace without a time limit never ends a body", () => {
  const clock = new FakeClock();
  const context = contextWith(clock, {
    ...limits,
    bodyIdleTimeoutMs: Infinity,
  });
  const pace = requestPace(context);

  pace.wait();
  clock.advance(1e9);
  pace.moved(1);

  assert.equal(pace.wait(), Infinity);
});

Deno.test("TunnelLimits ends a tunnel that was idle for the whole limit", () => {
  const clock = new FakeClock();
  const errors: string[] = [];
  const context = contextWith(clock, { tunnelIdleTimeoutMs: 1000 });
  using tunnel = new TunnelLimits(
    context,
    ({ code, message }) => errors.push(`${code}: ${message}`),
  );

  for (let ping = 0; ping < 10; ping++) {
    clock.advance(900);
    tunnel.moved();
  }
  assert.deepEqual(errors, []);
  clock.advance(1001);

  assert.deepEqual(errors, [
    "tunnel_idle: Closed the tunnel: no data for 1000 ms",
  ]);
});

Deno.test("TunnelLimits ends a tunnel that stays half-open, once, unless it is disposed", () => {
  const clock = new FakeClock();
  const errors: string[] = [];
  const context = contextWith(clock, {
    tunnelIdleTimeoutMs: 60_000,
    halfOpenTunnelMs: 1000,
  });
  const cut = ({ code, message }: GatewayError) =>
    errors.push(`${code}: ${message}`);
  {
    using tunnel = new TunnelLimits(context, cut);
    tunnel.halfOpened();
  }
  clock.advance(2000);
  assert.deepEqual(errors, []);

  using tunnel = new TunnelLimits(context, cut);
  tunnel.halfOpened();
  clock.advance(900);
  tunnel.moved();
  tunnel.halfOpened();
  assert.deepEqual(errors, []);
  clock.advance(100);

  assert.deepEqual(errors, [
    "client_closed: Cannot keep the tunnel: one side has ended",
  ]);
});
