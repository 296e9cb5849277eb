import assert from "node:assert/strict";
import { closeWhenOpen } from "../../../../cli/process/debugger_signal.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

function startWatching() {
  const clock = new FakeClock();
  const debugging = {
    address: undefined as string | undefined,
    closed: 0,
    url: () => debugging.address,
    close() {
      debugging.address = undefined;
      debugging.closed++;
    },
  };
  return { clock, debugging, stop: closeWhenOpen(debugging, clock) };
}

Deno.test("a debugger that opens some time after the signal is closed, each time", () => {
  const { clock, debugging } = startWatching();

  for (let times = 1; times <= 2; times++) {
    clock.advance(4000);
    debugging.address = "ws://127.0.0.1:9229/id";
    clock.advance(10);

    assert.equal(debugging.address, undefined);
    assert.equal(debugging.closed, times);
  }
});

Deno.test("watching for a debugger that does not open ends after ten seconds", () => {
  const { clock, debugging } = startWatching();

  clock.advance(10_000);

  assert.equal(debugging.closed, 0);
  assert.equal(clock.pending, 0);
});

Deno.test("watching for a debugger does not keep the process alive", () => {
  const { clock, stop } = startWatching();

  stop();

  assert.equal(clock.pending, 0);
});
