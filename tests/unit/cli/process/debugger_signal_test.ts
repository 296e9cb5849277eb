import assert from "node:assert/strict";
import { closeWhenOpen } from "../../../../cli/process/debugger_signal.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";

function startLooking() {
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

Deno.test("a debugger that opens a while after the signal is closed, each time", () => {
  const { clock, debugging } = startLooking();

  for (let times = 1; times <= 2; times++) {
    clock.advance(4000);
    debugging.address = "ws://127.0.0.1:9229/id";
    clock.advance(10);

    assert.equal(debugging.address, undefined);
    assert.equal(debugging.closed, times);
  }
});

Deno.test("a debugger that does not open is looked for no longer than ten seconds", () => {
  const { clock, debugging } = startLooking();

  clock.advance(10_000);

  assert.equal(debugging.closed, 0);
  assert.equal(clock.pending, 0);
});

Deno.test("a debugger is not looked for when the process ends", () => {
  const { clock, stop } = startLooking();

  stop();

  assert.equal(clock.pending, 0);
});
