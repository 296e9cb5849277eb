import assert from "node:assert/strict";
import { WakeUp } from "../../../../src/cluster/client/wake_up.ts";

Deno.test("a wait ends when it is woken, or when the signal aborts, also before it began", async () => {
  const wakeUp = new WakeUp();
  const stop = new AbortController();
  const first = wakeUp.wait(stop.signal);
  wakeUp.wake();
  await first;
  const second = wakeUp.wait(stop.signal);
  stop.abort();
  await second;
  await wakeUp.wait(stop.signal);
});

Deno.test("a wait leaves nothing at the signal", async () => {
  const wakeUp = new WakeUp();
  const { signal } = new AbortController();
  let listeners = 0;
  signal.addEventListener = () => void listeners++;
  signal.removeEventListener = () => void listeners--;
  const waiting = wakeUp.wait(signal);
  assert.equal(listeners, 1);
  wakeUp.wake();
  await waiting;
  assert.equal(listeners, 0);
});
